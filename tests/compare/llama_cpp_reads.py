"""GGUF files that tonnage writes, read by llama.cpp: the log probabilities of both.

usage: llama_cpp_reads.py TONNAGE MODEL.gguf... [--tokens 48]   (needs: pip install llama-cpp-python numpy safetensors)

For every type: `tonnage quantize --format gguf`, then llama.cpp's logits against `tonnage logits --precision exact`. llama.cpp
rounds activations to 8 bits, so that the two differ by what that costs: a mean KL divergence beyond 0.02 fails.
"""
import argparse, json, subprocess, sys, tempfile
from pathlib import Path

import llama_cpp
import numpy as np
from safetensors.numpy import load_file

LIMIT = 0.02
TYPES = ["q4_0", "q4_1", "q8_0", "q4_k", "q6_k", "f16", "bf16", "f32"]


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def llama_cpp_logits(path, ids):
    model = llama_cpp.Llama(str(path), n_ctx=len(ids) + 8, logits_all=True, verbose=False)
    model.eval(ids)
    return np.array(model.scores[:len(ids)])


def tonnage_logits(program, path, ids, folder):
    out = folder / "logits.safetensors"
    subprocess.run([program, "logits", str(path), "--precision", "exact", "--out", str(out)], input=json.dumps(ids) + "\n", text=True,
                   check=True)
    return load_file(out)["logits"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tokens", type=int, default=48)
    args = parser.parse_args()
    good = True
    for source in args.models:
        for kind in TYPES:
            with tempfile.TemporaryDirectory() as work:
                target = Path(work) / "model.gguf"
                subprocess.run([args.program, "quantize", source, str(target), "--format", "gguf", "--type", kind], check=True,
                               stderr=subprocess.DEVNULL)
                vocab = json.loads(subprocess.run([args.program, "inspect", source, "--json"], check=True, capture_output=True,
                                                  text=True).stdout)["config"]["vocab_size"]
                ids = np.random.default_rng(1).integers(0, vocab, args.tokens).tolist()
                ours = log_softmax(tonnage_logits(args.program, target, ids, Path(work)))
                theirs = log_softmax(llama_cpp_logits(target, ids))
                kl = float((np.exp(ours) * (ours - theirs)).sum(axis=1).mean())
                same = float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean())
                good &= kl <= LIMIT
                print(f"{'ok  ' if kl <= LIMIT else 'FAIL'} {kl:.1e} {same:4.0%}  {kind} of {Path(source).name}", flush=True)
    sys.exit(0 if good else 1)


main()
