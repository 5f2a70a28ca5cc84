"""Writes what llama.cpp makes of many texts with each of its pre-tokenizers.

    pip install gguf llama-cpp-python; python make_gguf_pre.py

gguf_pre_vocab.json: one byte-level vocabulary whose merges run across words, digits, spaces and punctuation, so that the ids
show where a text was cut. gguf_pre.jsonl: {"pre", "text", "ids"} a line. Left out are texts where a model's own pattern and
llama.cpp's simplified one differ (see src/tokenizer/gguf_pre.cc).
"""
import json, os, random, sys, tempfile
import gguf
from llama_cpp import Llama

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = """default minicpm5 llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano deepseek-llm
deepseek-coder deepseek-v3 hunyuan-dense joyai-llm hy_v4 spark2_5 youtu falcon starcoder refact command-r smollm codeshell exaone
minerva-7b mellum2 gpt-2 phi-2 mpt olmo jais trillion granite-docling jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code
gigachat a.x-4.0 mellum modern-bert roberta-bpe exaone4 jais-2 qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan solar-open
megrez grok-2 qwen35 dbrx smaug-bpe chatglm-bpe glm4 glm5 poro-chat bloom gpt3-finnish viking tekken exaone-moe chameleon gpt-4o
llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m tiny_aya cohere2moe superbpe bailingmoe bailingmoe2 llada-moe seed-coder
kimi-k2 ufakzeka afmoe laguna""".split()
# Where llama.cpp knows fewer classes, only texts without letters beyond ASCII are the same in both; with one pattern for any
# case also none that mixes it; and where its digit groups take along what stands before them, none with digits after spaces.
SIMPLIFIED = set("tekken gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m".split())
CASELESS = set("youtu kimi-k2 tiny_aya cohere2moe".split())
GROUPED = set("tiny_aya cohere2moe afmoe".split())

def byte_letters():
    shown = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters, extra = {}, 0
    for byte in range(256):
        if byte in shown: letters[byte] = chr(byte)
        else: letters[byte] = chr(256 + extra); extra += 1
    return letters

WORDS = "the of and to in Hello World I'm don't we'LL I'VE foo_bar fooBar HTTPServer x=1 != <= // /* */ #include f(x): IMGIMGABCZ <sentinel:12>".split()
OTHER = ["Straße", "naïve", "日本語", "です", "中文，在这里！", "Привет", "γειά", "안녕하세요", "مرحبا", "ﬁne", "１２３", "e\u0301", "😀", "ภาษา", "²³", "٣٤٥",
         "\u00a0", "\u3000", "ㄅㄆ", "、。", "“q”", "—", "€", "\u0301"]
SPACES = [" ", "  ", "   ", "\n", "\n\n", " \n", "\t", "\r\n", "\n  ", "\t\t", "         "]

def text(rng, plain, grouped=False):
    kind, n = rng.randrange(3 if grouped else 4), rng.randint(1, 9)
    other = [] if plain else OTHER
    if kind == 0: return " ".join(rng.choice(WORDS + other) for _ in range(n))
    if kind == 1: return "".join(rng.choice(rng.choice([WORDS, other or WORDS, SPACES, list(".,;:!?'\"()[]{}<>@#$%^&*-_=+~`|\\/")] + ([] if plain else [list("0123456789")]))) for _ in range(n))
    if kind == 2: return "".join(rng.choice("ab  \n'\t.As") for _ in range(2 * n))
    return rng.choice(SPACES).join(str(rng.randint(0, 10 ** rng.randint(1, 10))) for _ in range(n))

def train(rng, count):
    letters = byte_letters()
    line = "".join(letters[b] for _ in range(700) for b in text(rng, False).encode())
    tokens = [letters[b] for b in range(256)]
    seq, merges, known = list(line), [], set(tokens)
    while len(merges) < count:
        pairs = {}
        for pair in zip(seq, seq[1:]): pairs[pair] = pairs.get(pair, 0) + 1
        best = max(sorted(pairs), key=pairs.get)
        out, i = [], 0
        while i < len(seq):
            if i + 1 < len(seq) and (seq[i], seq[i + 1]) == best: out.append(seq[i] + seq[i + 1]); i += 2
            else: out.append(seq[i]); i += 1
        seq = out
        if best[0] + best[1] in known: continue
        merges.append(" ".join(best)); tokens.append(best[0] + best[1]); known.add(best[0] + best[1])
    return tokens, merges

def main():
    rng = random.Random(3)
    tokens, merges = train(rng, 500)
    with open(os.path.join(HERE, "gguf_pre_vocab.json"), "w") as out: json.dump({"tokens": tokens, "merges": merges}, out)
    with open(os.path.join(HERE, "gguf_pre.jsonl"), "w") as out, tempfile.TemporaryDirectory() as folder:
        for pre in NAMES:
            path = os.path.join(folder, pre + ".gguf")
            writer = gguf.GGUFWriter(path, "llama")
            for key, value in dict(block_count=1, context_length=512, embedding_length=8, feed_forward_length=8, head_count=1).items():
                getattr(writer, "add_" + key)(value)
            writer.add_layer_norm_rms_eps(1e-5)
            writer.add_tokenizer_model("gpt2"); writer.add_tokenizer_pre(pre)
            writer.add_token_list(tokens); writer.add_token_types([1] * len(tokens)); writer.add_token_merges(merges)
            writer.add_bos_token_id(0); writer.add_eos_token_id(0)
            writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.close()
            model = Llama(path, vocab_only=True, verbose=False)
            for _ in range(14):
                sample = text(rng, pre in SIMPLIFIED | CASELESS | GROUPED, pre in GROUPED)
                if pre in CASELESS: sample = sample.lower()
                ids = model.tokenize(sample.encode(), add_bos=False, special=False)
                out.write(json.dumps({"pre": pre, "text": sample, "ids": ids}) + "\n")

if __name__ == "__main__":
    main()
