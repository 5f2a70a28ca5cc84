#!/usr/bin/env python3
"""How far a precision is from float32 arithmetic: mean KL divergence, top-token agreement and perplexity.

    bench/precision.py MODEL.gguf [--tonnage build/tonnage] [--windows 29] [--precision exact fast] [--text FILE] [--json FILE]

The reference is llama.cpp on the same weights dequantized to F32 (bench/gguf_to_f32.py) with an F32 KV cache. The text is
cut into windows of 512 tokens, each evaluated alone. llama.cpp's own kernels on the quantized file are measured beside us.
The text is by default Python's own language reference (pydoc_data.topics), which every Python carries.

Needs a virtual environment with: llama-cpp-python gguf numpy safetensors
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

WINDOW = 512
HERE = pathlib.Path(__file__).resolve().parent


def default_text():
    import pydoc_data.topics
    return "\n\n".join(pydoc_data.topics.topics[key] for key in sorted(pydoc_data.topics.topics))


class LlamaCpp:
    """llama.cpp's logits of a window: [tokens, vocab] float32."""

    def __init__(self, path, f32_kv, threads):
        import llama_cpp
        kv = dict(type_k=0, type_v=0) if f32_kv else {}
        self.model = llama_cpp.Llama(str(path), n_ctx=WINDOW, n_batch=WINDOW, n_ubatch=WINDOW, logits_all=True,
                                     n_threads=threads, n_threads_batch=threads, verbose=False, **kv)

    def tokenize(self, text):
        return self.model.tokenize(text.encode(), add_bos=False, special=False)

    def logits(self, ids):
        self.model.reset()
        self.model.eval(ids)
        return np.array(self.model.scores[:len(ids)], dtype=np.float32)


class Tonnage:
    """`tonnage logits` on a window."""

    def __init__(self, program, path, precision):
        self.command = [program, "logits", str(path), "--precision", precision]

    def logits(self, ids):
        from safetensors.numpy import load_file
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "logits.safetensors"
            subprocess.run(self.command + ["--out", str(out)], input=json.dumps(ids) + "\n", text=True, check=True,
                           stdout=subprocess.DEVNULL)
            return load_file(out)["logits"]


class Score:
    """Sums over windows of what one engine's logits cost against the reference's."""

    def __init__(self):
        self.tokens = self.same = 0
        self.kl = self.nll = 0.0
        self.nll_tokens = 0

    def add(self, reference, logits, ids):
        p = log_softmax(reference)
        q = log_softmax(logits)
        self.tokens += len(ids)
        self.same += int((reference.argmax(1) == logits.argmax(1)).sum())
        self.kl += float((np.exp(p) * (p - q)).sum())
        self.nll -= float(q[np.arange(len(ids) - 1), ids[1:]].sum())
        self.nll_tokens += len(ids) - 1

    def row(self, reference):
        perplexity = np.exp(self.nll / self.nll_tokens)
        of_reference = np.exp(reference.nll / reference.nll_tokens)
        return {"tokens": self.tokens, "mean_kl": self.kl / self.tokens, "top_token_same": self.same / self.tokens,
                "perplexity": perplexity, "perplexity_change": perplexity / of_reference - 1}


def log_softmax(x):
    x = x.astype(np.float64)
    x -= x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--tonnage", default="build/tonnage")
    parser.add_argument("--windows", type=int, default=29)
    parser.add_argument("--precision", nargs="*", default=["exact", "fast"])
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-llama-cpp", action="store_true", help="leave llama.cpp's quantized kernels out")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        exact = pathlib.Path(folder) / "f32.gguf"
        subprocess.run([sys.executable, HERE / "gguf_to_f32.py", args.model, exact], check=True,
                       stdout=subprocess.DEVNULL)
        reference = LlamaCpp(exact, True, args.threads)
    engines = {f"tonnage {name}": Tonnage(args.tonnage, args.model, name) for name in args.precision}
    if not args.no_llama_cpp:
        engines["llama.cpp"] = LlamaCpp(args.model, False, args.threads)

    text = args.text.read_text() if args.text else default_text()
    ids = reference.tokenize(text)[:args.windows * WINDOW]
    windows = [ids[i:i + WINDOW] for i in range(0, len(ids) - WINDOW + 1, WINDOW)]
    base = Score()
    scores = {name: Score() for name in engines}
    for number, window in enumerate(windows, 1):
        expected = reference.logits(window)
        base.add(expected, expected, window)
        for name, engine in engines.items():
            scores[name].add(expected, engine.logits(window), window)
        print(f"\r{number}/{len(windows)} windows", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    rows = {"float32 reference": base.row(base)} | {name: score.row(base) for name, score in scores.items()}
    print(f"{'':18} {'tokens':>7} {'mean KL':>9} {'top same':>9} {'perplexity':>11} {'change':>9}")
    for name, row in rows.items():
        print(f"{name:18} {row['tokens']:7} {row['mean_kl']:9.2e} {row['top_token_same']:9.2%} "
              f"{row['perplexity']:11.4f} {row['perplexity_change']:+9.4%}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
