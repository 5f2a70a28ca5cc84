#!/usr/bin/env python3
"""Tonnage beside its peers on one model, in one run: alternating rounds, same threads, same prompt; medians and ratios.

    bench/compare.py MODEL.gguf [--threads 2] [--rounds 5] [--prompt 512] [--generate 128] [--random-weights] [--json FILE]

Real weights: outputs are compared before timings count; the greedy continuations of a text must start alike. With
--random-weights (a file of noise in a real shape) there is nothing to compare, and only speed is measured.
Needs a virtual environment with: llama-cpp-python numpy
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from adapters.llama_cpp import LlamaCpp  # noqa: E402
from adapters.tonnage import Tonnage  # noqa: E402

ALIKE_TOKENS = 8


def prompt_ids(peer, count, random_weights):
    if random_weights:
        return [(i * 7919) % 30000 + 100 for i in range(count)]
    import pydoc_data.topics
    text = "\n\n".join(pydoc_data.topics.topics[key] for key in sorted(pydoc_data.topics.topics))
    return peer.model.tokenize(text.encode(), add_bos=False, special=False)[:count]


def check_alike(engines, ids):
    outputs = {engine.name: engine.greedy(ids[:128], ALIKE_TOKENS) for engine in engines}
    first = outputs[engines[0].name]
    for name, output in outputs.items():
        if output != first:
            sys.exit(f"{name} continues with {output}, {engines[0].name} with {first}: not the same model, no timing counts")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=128)
    parser.add_argument("--random-weights", action="store_true")
    parser.add_argument("--tonnage", default="build/tonnage")
    parser.add_argument("--precision", default="fast")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    context = args.prompt + args.generate + 64
    peer = LlamaCpp(args.model, args.threads, context)
    ours = Tonnage(args.model, args.threads, context, args.tonnage, ["--precision", args.precision])
    engines = [ours, peer]
    ids = prompt_ids(peer, args.prompt, args.random_weights)
    if not args.random_weights:
        check_alike(engines, ids)

    speeds = {(engine.name, work): [] for engine in engines for work in ("prefill", "decode")}
    for number in range(args.rounds):
        for engine in engines:
            speeds[engine.name, "prefill"].append(engine.prefill(ids))
            speeds[engine.name, "decode"].append(engine.decode(ids[:32], args.generate))
        print(f"\rround {number + 1}/{args.rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    medians = {key: statistics.median(values) for key, values in speeds.items()}
    print(f"{args.model.name}, {args.threads} threads, median of {args.rounds} alternating rounds, tokens/s")
    for engine in engines:
        print(f"  {engine.name:10} {engine.version}")
    for work in ("prefill", "decode"):
        a, b = medians[ours.name, work], medians[peer.name, work]
        print(f"  {work:8} {ours.name} {a:9.1f}   {peer.name} {b:9.1f}   ratio {a / b:.2f}")
    if args.json:
        args.json.write_text(json.dumps({"model": args.model.name, "threads": args.threads, "rounds": args.rounds,
                                         "versions": {e.name: e.version for e in engines},
                                         "tokens_per_s": {f"{k[0]} {k[1]}": v for k, v in speeds.items()}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
