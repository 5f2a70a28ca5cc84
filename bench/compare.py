#!/usr/bin/env python3
"""Tonnage beside its peers on one model, in one run: alternating rounds, same threads, same tokens; medians and ratios.

    bench/compare.py MODEL.gguf [--work prefill decode depth batch] [--threads 2] [--rounds 5] [--json FILE]

    prefill   a prompt of --prompt tokens (512)
    decode    --generate tokens (128) behind a short prompt
    depth     the same behind --depth tokens (8192)
    batch     the same for --batch requests (8) side by side, tokens of all

Real weights: outputs are compared before timings count; the greedy continuations of a text must start alike. With
--random-weights (a file of noise in a real shape) there is nothing to compare, and only speed is measured.
Each of our measurements comes with its bound, measured in the same process (docs/performance.md).
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
SHORT_PROMPT = 32


def prompt_ids(peer, count, random_weights):
    if random_weights:
        return [(i * 7919) % 30000 + 100 for i in range(count)]
    import pydoc_data.topics
    text = "\n\n".join(pydoc_data.topics.topics[key] for key in sorted(pydoc_data.topics.topics))
    ids = peer.model.tokenize(text.encode(), add_bos=False, special=False)
    return (ids * (count // len(ids) + 1))[:count]


def check_alike(engines, ids):
    outputs = {engine.name: engine.greedy(ids[:128], ALIKE_TOKENS) for engine in engines}
    first = outputs[engines[0].name]
    for name, output in outputs.items():
        if output != first:
            sys.exit(f"{name} continues with {output}, {engines[0].name} with {first}: not the same model, no timing counts")


def make_works(args, ids):
    """By name: what it is called, and how an engine does it."""
    short = ids[:SHORT_PROMPT]
    works = {
        "prefill": (f"prefill, {args.prompt:,} tokens", lambda engine: engine.prefill(ids[:args.prompt])),
        "decode": (f"decode, {args.generate:,} tokens", lambda engine: engine.decode(short, args.generate)),
        "depth": (f"decode behind {args.depth:,} tokens", lambda engine: engine.decode(ids[:args.depth], args.generate)),
        "batch": (f"decode, {args.batch:,} requests side by side", lambda engine: engine.batch(short, args.batch, args.generate)),
    }
    return {name: works[name] for name in args.work}


def print_table(works, engines, speeds, bounds):
    ours, *peers = engines
    median = statistics.median
    print(f"{'tokens/s':38}" + "".join(f"{engine.name:>12}" for engine in engines)
          + "".join(f"{'ratio':>8}" for _ in peers) + f"{'bound':>10}{'reached':>9}")
    for work, (label, _) in works.items():
        values = [median(speeds[f"{engine.name} {work}"]) for engine in engines]
        bound = median(bounds[work])
        print(f"{label:38}" + "".join(f"{value:12.1f}" for value in values)
              + "".join(f"{values[0] / value:8.2f}" for value in values[1:]) + f"{bound:10.1f}{values[0] / bound:9.0%}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--work", nargs="+", choices=["prefill", "decode", "depth", "batch"], default=["prefill", "decode"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=128)
    parser.add_argument("--depth", type=int, default=8192)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--random-weights", action="store_true")
    parser.add_argument("--tonnage", default="build/tonnage")
    parser.add_argument("--precision", default="fast")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()

    longest = max(args.prompt, args.depth if "depth" in args.work else 0, SHORT_PROMPT, 128)
    peer = LlamaCpp(args.model, args.threads, longest + args.generate + 64)
    ours = Tonnage(args.model, args.threads, args.tonnage, ["--precision", args.precision])
    engines = [ours, peer]
    ids = prompt_ids(peer, longest, args.random_weights)
    if not args.random_weights:
        check_alike(engines, ids)

    works = make_works(args, ids)
    speeds = {f"{engine.name} {work}": [] for engine in engines for work in works}
    bounds = {work: [] for work in works}
    for number in range(args.rounds):
        for work, (label, run) in works.items():
            for engine in engines:
                print(f"\rround {number + 1}/{args.rounds}: {label}, {engine.name}\033[K", end="", file=sys.stderr, flush=True)
                speeds[f"{engine.name} {work}"].append(run(engine))
            bounds[work].append(ours.bound)
    print("\r\033[K", end="", file=sys.stderr)

    print(f"{args.model.name}, {args.threads} threads, median of {args.rounds} alternating rounds")
    for engine in engines:
        print(f"  {engine.name:10} {engine.version}")
    print_table(works, engines, speeds, bounds)
    if args.json:
        args.json.write_text(json.dumps({"model": args.model.name, "threads": args.threads, "rounds": args.rounds,
                                         "versions": {e.name: e.version for e in engines},
                                         "works": {work: label for work, (label, _) in works.items()},
                                         "tokens_per_s": speeds, "bound_tokens_per_s": bounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
