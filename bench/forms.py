#!/usr/bin/env python3
"""One model in several storage forms: size, perplexity and an answer (in exact precision) of each.

    bench/forms.py MODEL.gguf [--tonnage build/tonnage] [--windows 8] [--precision fast] [--json FILE]

Every form is written from MODEL by `tonnage quantize`. The text is Python's own language reference (pydoc_data.topics), cut
into windows of 512 tokens that are each evaluated alone. Needs a virtual environment with: numpy safetensors
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

WINDOW = 512
QUESTION = "What is the capital of France?"
FORMS = [("as it comes", None),
         ("bfloat16", ["--mode", "none", "--dtype", "bfloat16"]),
         ("MLX affine 8-bit g32", ["--bits", "8", "--group-size", "32"]),
         ("MLX affine 8-bit g64", ["--bits", "8", "--group-size", "64"]),
         ("MLX affine 4-bit g32", ["--bits", "4", "--group-size", "32"]),
         ("MLX affine 4-bit g64", ["--bits", "4", "--group-size", "64"]),
         ("MLX mxfp4", ["--mode", "mxfp4"]),
         ("MLX mixed_4_6 g64", ["--mixed", "mixed_4_6"])]


def text():
    import pydoc_data.topics
    return "\n\n".join(pydoc_data.topics.topics[key] for key in sorted(pydoc_data.topics.topics))


def perplexity(program, model, windows, precision):
    from safetensors.numpy import load_file
    loss, tokens = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "logits.safetensors"
        for ids in windows:
            subprocess.run([program, "logits", str(model), "--precision", precision, "--out", str(out)],
                           input=json.dumps(ids) + "\n", text=True, check=True)
            logits = load_file(out)["logits"][:-1].astype(np.float64)
            top = logits.max(axis=1, keepdims=True)
            log_sum = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
            loss += float((log_sum - logits[np.arange(len(ids) - 1), ids[1:]]).sum())
            tokens += len(ids) - 1
    return float(np.exp(loss / tokens))


def size(model):
    return sum(f.stat().st_size for f in model.glob("*.safetensors")) if model.is_dir() else model.stat().st_size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--tonnage", default="build/tonnage")
    parser.add_argument("--windows", type=int, default=8)
    parser.add_argument("--precision", default="fast")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    ids = json.loads(subprocess.run([args.tonnage, "tokenize", str(args.model)], input=json.dumps(text()) + "\n",
                                    text=True, capture_output=True, check=True).stdout)
    windows = [ids[i * WINDOW:(i + 1) * WINDOW] for i in range(args.windows)]
    rows = []
    print("| form | MB | perplexity | answer |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, options) in enumerate(FORMS):
            model = args.model
            if options is not None:
                model = pathlib.Path(folder) / str(i)
                subprocess.run([args.tonnage, "quantize", str(args.model), str(model), *options], check=True,
                               stderr=subprocess.DEVNULL)
            answer = subprocess.run([args.tonnage, "run", str(model), QUESTION, "--temperature", "0", "--max-tokens", "24",
                                     "--precision", "exact"],
                                    capture_output=True, text=True, check=True).stdout.strip().split("\n")[0]
            rows.append({"form": name, "bytes": size(model), "perplexity": perplexity(args.tonnage, model, windows, args.precision),
                         "answer": answer})
            print(f"| {name} | {rows[-1]['bytes'] / 1e6:.0f} | {rows[-1]['perplexity']:.3f} | {answer} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


main()
