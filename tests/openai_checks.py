#!/usr/bin/env python3
"""Asks a running server through the official openai client: openai_checks.py BASE_URL MODEL

What the client's own types do not accept, and every answer that contradicts another, is a failure."""
import sys

import openai

PROMPT = [{"role": "user", "content": "Name three rivers."}]
COUNT = {"temperature": 0, "max_tokens": 24, "extra_body": {"ignore_eos": True}}


def strict(value):
    """The client builds its answers without checking; this checks them as pydantic would."""
    return type(value).model_validate(value.model_dump(), strict=True)


def check_chat(client, model):
    whole = strict(client.chat.completions.create(model=model, messages=PROMPT, **COUNT))
    text = whole.choices[0].message.content
    assert text and whole.choices[0].finish_reason == "length"
    assert whole.usage.completion_tokens == 24
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + 24
    stream = client.chat.completions.create(
        model=model, messages=PROMPT, stream=True, stream_options={"include_usage": True}, **COUNT)
    chunks = [strict(chunk) for chunk in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(c.choices[0].delta.content or "" for c in chunks[:-1]) == text
    assert [c.choices[0].finish_reason for c in chunks[:-1] if c.choices[0].finish_reason] == ["length"]
    assert chunks[-1].choices == [] and chunks[-1].usage == whole.usage
    assert all(c.usage is None for c in chunks[:-1])
    assert len({c.id for c in chunks}) == 1


def check_logprobs(client, model):
    answer = strict(client.chat.completions.create(
        model=model, messages=PROMPT, logprobs=True, top_logprobs=3, **COUNT))
    content = answer.choices[0].logprobs.content
    assert len(content) == 24
    text = b"".join(bytes(token.bytes) for token in content).decode(errors="replace")
    assert text.rstrip("\ufffd") in (answer.choices[0].message.content, answer.choices[0].message.content.rstrip("\ufffd"))
    for token in content:
        assert len(token.top_logprobs) == 3 and token.top_logprobs[0].token == token.token
    columns = strict(client.completions.create(model=model, prompt="One two", logprobs=2, **COUNT)).choices[0].logprobs
    assert len(columns.tokens) == len(columns.token_logprobs) == len(columns.top_logprobs) == 24
    assert columns.text_offset == sorted(columns.text_offset) and columns.text_offset[0] == 0


def check_completions(client, model):
    whole = strict(client.completions.create(model=model, prompt=["One two", "Red green"], n=2, echo=True, **COUNT))
    assert [c.index for c in whole.choices] == [0, 1, 2, 3]
    assert whole.choices[0].text == whole.choices[1].text and whole.choices[0].text.startswith("One two")
    assert whole.choices[2].text.startswith("Red green")
    texts = [""] * 4
    for chunk in client.completions.create(
            model=model, prompt=["One two", "Red green"], n=2, echo=True, stream=True, **COUNT):
        for choice in chunk.choices:  # not strict: its type knows no null for what is not finished, but OpenAI sends it
            texts[choice.index] += choice.text
    assert texts == [c.text for c in whole.choices]
    best = client.completions.create(model=model, prompt="One", max_tokens=5, n=1, best_of=3, seed=1)
    assert len(best.choices) == 1


def check_seed_n_stop(client, model):
    def sample(**more):
        answer = client.chat.completions.create(model=model, messages=PROMPT, max_tokens=20, **more)
        return [choice.message.content for choice in strict(answer).choices]
    assert sample(seed=7, n=3) == sample(seed=7, n=3)
    assert len(set(sample(seed=7, n=3))) > 1
    text = sample(temperature=0)[0]
    stop = text[len(text) // 2:len(text) // 2 + 3]
    stopped = client.chat.completions.create(model=model, messages=PROMPT, max_tokens=20, temperature=0, stop=[stop])
    assert stopped.choices[0].message.content == text[:text.index(stop)]
    assert stopped.choices[0].finish_reason == "stop"


def check_errors(client, model):
    def refused(kind, code, param, **request):
        request = {"model": model, "messages": PROMPT, "max_tokens": 4} | request
        try:
            client.chat.completions.create(**request)
        except kind as error:
            assert (error.code, error.param) == (code, param), (error.code, error.param, error.message)
            return
        raise AssertionError(f"accepted: {request}")
    refused(openai.BadRequestError, "invalid_value", "temperature", temperature=3)
    refused(openai.BadRequestError, "unsupported_parameter", "response_format", response_format={"type": "json_object"})
    refused(openai.BadRequestError, "context_length_exceeded", "messages", max_tokens=10**9)
    refused(openai.BadRequestError, "invalid_value", "messages", messages=[])
    refused(openai.NotFoundError, "model_not_found", "model", model="no such model")


def check_models(client, model):
    assert model in [strict(m).id for m in client.models.list()]
    assert strict(client.models.retrieve(model)).id == model


def run(base_url, model):
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=120)
    for check in (check_models, check_chat, check_logprobs, check_completions, check_seed_n_stop, check_errors):
        check(client, model)
        print(check.__name__, "ok", flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:])
