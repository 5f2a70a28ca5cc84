"""Writes what Hugging Face's decoders make of random token lists: {"decoder", "tokens", "text"} a line.

    pip install tokenizers; python make_decoders.py
"""
import json, os, random
from tokenizers import Regex, decoders

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENS = ["a", "b", " ", "  ", "\u2581", "\u2581a", "\u2581\u2581b\u2581", "##c", "##", "d</w>", "</w>", "<0x41>", "<0xC3>", "<0xA9>", "<0xF0>", "<0x9F>", "<0x98>",
          "<0x80>", "<0x+9>", "<0xZZ>", "\u0120hi", "\u00c3", "\u00a9", "\u00f0", "\u0141", "\u013a", "\u0122", "\u65e5", ".", "?", "n't", "'s", " do not", "do", "not", "|",
          "<pad>", "<pad>", "x y", "", "\u0301", "__a__", "aa"]

def component(rng):
    kind = rng.randrange(9)
    if kind == 0: return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, decoders.ByteLevel()
    if kind == 1:
        literal, content = rng.choice(["\u2581", "a", "aa", " ", "</w>"]), rng.choice([" ", "", "zz"])
        return {"type": "Replace", "pattern": {"String": literal}, "content": content}, decoders.Replace(literal, content)
    if kind == 2:
        prefix, cleanup = rng.choice(["##", "\u2581"]), rng.random() < 0.5
        return {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}, decoders.WordPiece(prefix, cleanup)
    if kind == 3: return {"type": "ByteFallback"}, decoders.ByteFallback()
    if kind == 4: return {"type": "Fuse"}, decoders.Fuse()
    if kind == 5:
        content, start, stop = rng.choice([" ", "a", "\u2581"]), rng.randrange(3), rng.randrange(2)
        return {"type": "Strip", "content": content, "start": start, "stop": stop}, decoders.Strip(content, start, stop)
    if kind == 6:
        scheme = rng.choice(["always", "first", "never"])
        return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True}, decoders.Metaspace("\u2581", scheme)
    if kind == 7: return {"type": "BPEDecoder", "suffix": "</w>"}, decoders.BPEDecoder("</w>")
    cleanup = rng.random() < 0.5
    return {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": cleanup}, decoders.CTC("<pad>", "|", cleanup)

def main():
    rng = random.Random(5)
    with open(os.path.join(HERE, "decoders.jsonl"), "w") as out:
        rows = 0
        while rows < 600:
            parts = [component(rng) for _ in range(rng.choice([1, 1, 2, 3, 4]))]
            if rows % 6 == 0:
                parts = [({"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, decoders.Replace("\u2581", " ")),
                         ({"type": "ByteFallback"}, decoders.ByteFallback()), ({"type": "Fuse"}, decoders.Fuse()),
                         ({"type": "Strip", "content": " ", "start": 1, "stop": 0}, decoders.Strip(" ", 1, 0))]
            spec, made = parts[0] if len(parts) == 1 else ({"type": "Sequence", "decoders": [p[0] for p in parts]}, decoders.Sequence([p[1] for p in parts]))
            tokens = [rng.choice(TOKENS) for _ in range(rng.randrange(9))]
            try:
                text = made.decode(tokens)
            except BaseException:  # the reference gives up on some empty lists and on tokens that Strip eats from both ends
                continue
            out.write(json.dumps({"decoder": spec, "tokens": tokens, "text": text}) + "\n"); rows += 1

if __name__ == "__main__":
    main()
