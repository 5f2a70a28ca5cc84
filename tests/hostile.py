"""Hostile HTTP inputs, the same ones every time."""
import json
import random

from serving import post

CHAT = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
PATHS = ("/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize", "/apply-template", "/plan")
WRONG = (7, -1, 1.5, 1e308, 10**40, "text", "", [], [[]], {}, {"a": {}}, True, [None], [1, "a"], "\ud800")
BROKEN = (b"", b"{", b"}", b"[", b"nul", b"{\"a\":}", b"{\"a\" 1}", b"{'a':1}", b"\"\\u12\"", b"01", b"1e999", b"-", b"[1,]",
          b"\xff\xfe{", b"{\"a\":\"\xc3\"}", b"{\"messages\":\"\xed\xa0\x80\"}", b"{\"model\":\"\x00\"}", b"\xef\xbb\xbf{}x",
          b"{} {}", b"{\"a\":1,,}", b"NaN", b"[Infinity]", b"/* */ {}", b"{\"a\":\"\n\"}", b"null", b"[]", b"3", b"\"x\"")
HEADS = (b"GET\r\n\r\n", b"\r\n\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nA\r\n\r\n",
         b"GET /%zz HTTP/1.1\r\n\r\n", b"GET /%2 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
         b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
         b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
         b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n")


def hostile_inputs():
    """500 of them, with a name each."""
    inputs = []
    for path in PATHS:
        inputs += [(f"{path} broken {body!r}", post(path, body)) for body in BROKEN[1:]]
        inputs.append((f"{path} deep", post(path, b"[" * 100_000)))
        inputs.append((f"{path} deep objects", post(path, b'{"messages":' * 5_000 + b"1" + b"}" * 5_000)))
    fields = ("model", "messages", "max_tokens", "temperature", "top_p", "n", "stop", "logit_bias", "stream", "seed", "top_logprobs")
    for field in fields:
        for wrong in WRONG:
            if not accepts(field, wrong):
                inputs.append((f"{field} = {wrong!r}", post(PATHS[0], json.dumps(CHAT | {field: wrong}).encode())))
    letter = "x" * 50_000
    inputs.append(("50 KB of one letter, chat", post(PATHS[0], json.dumps(CHAT | {"messages": [{"role": "user", "content": letter}]}).encode())))
    inputs.append(("50 KB of one letter", post(PATHS[1], json.dumps({"model": "chat", "prompt": letter}).encode())))
    inputs += [(f"head {head!r}", head) for head in HEADS]
    inputs.append(("headers without end", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000))
    inputs.append(("a header without end", b"GET / HTTP/1.1\r\nA: " + b"b" * 200_000))
    inputs.append(("a long path", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"))
    inputs.append(("a large body", post(PATHS[0], b" " * 70_000)))
    inputs.append(("a body that is said to be large", post(PATHS[0], b"", length=10**12)))
    inputs.append(("a body that does not come", post(PATHS[0], b"{", length=100)))
    inputs.append(("a head that does not end", b"GET / HTTP/1.1\r\nHost:"))
    rng = random.Random(5)
    template = json.dumps(CHAT).encode()
    while len(inputs) < 500:
        body = bytearray(template)
        for _ in range(rng.randrange(1, 6)):
            body[rng.randrange(len(body))] = rng.randrange(128, 256)
        inputs.append((f"bytes {bytes(body)!r}", post(rng.choice(PATHS), bytes(body))))
    return inputs[:500]


def accepts(field, value):
    """Whether a chat may hold this, so that it is no hostile input."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {
        "stop": isinstance(value, str) and value not in ("", "\ud800") or value == [],
        "logit_bias": value == {},
        "stream": value is True,
        "temperature": number and 0 <= value <= 2,
        "top_p": number and 0 <= value <= 1,
        "n": value == 7,
        "max_tokens": value == 7,
        "seed": isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
    }.get(field, False)
