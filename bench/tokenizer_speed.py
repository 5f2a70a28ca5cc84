"""Encoding speed on one thread beside Hugging Face's tokenizers, in one run.

usage: python bench/tokenizer_speed.py BUILD TEXTS TOKENIZER... [--rounds N] [--out FILE.json]

BUILD is a build folder (build/release) with tonnage and tokenizer_bench, TEXTS a folder of .txt files, a TOKENIZER a folder
with a tokenizer.json. For each tokenizer and text both libraries take turns, `--rounds` times each, over the same pieces of
4 KiB; medians and their ratio are printed. Before any timing counts, the ids of both are compared. Needs the PyPI package
tokenizers.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import tokenizers  # noqa: E402

CHUNK_BYTES = 4096


def chunks_of(path):
    data = open(path, "rb").read()
    chunks, begin = [], 0
    while begin < len(data):
        end = min(begin + CHUNK_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        chunks.append(data[begin:end].decode())
        begin = end
    return chunks, len(data)


def theirs(tokenizer, chunks):
    start = time.perf_counter()
    for chunk in chunks:
        tokenizer.encode(chunk, add_special_tokens=False)
    return time.perf_counter() - start


def ours(build, folder, text):
    """Seconds of one pass over the text."""
    environment = dict(os.environ, TONNAGE_BENCH_TOKENIZERS=folder, TONNAGE_BENCH_TEXTS=text)
    result = subprocess.run(
        [os.path.join(build, "src/tokenizer/tokenizer_bench") if os.path.exists(os.path.join(build, "src/tokenizer/tokenizer_bench"))
         else os.path.join(build, "tokenizer_bench"), "--benchmark_format=json", "--benchmark_min_time=0.5",
         "--benchmark_filter=^Encode/"],
        env=environment, capture_output=True, check=True)
    entry = json.loads(result.stdout)["benchmarks"][0]
    return entry["real_time"] / 1e3


def check(build, folder, tokenizer, chunks):
    lines = "".join(json.dumps(c) + "\n" for c in chunks)
    result = subprocess.run([os.path.join(build, "tonnage"), "tokenize", folder], input=lines.encode(), capture_output=True, check=True)
    for chunk, line in zip(chunks, result.stdout.decode().split("\n")):
        if json.loads(line) != tokenizer.encode(chunk, add_special_tokens=False).ids:
            raise SystemExit("different ids for %r" % chunk)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("texts")
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    results = []
    for folder in arguments.tokenizers:
        tokenizer = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        for name in sorted(os.listdir(arguments.texts)):
            path = os.path.join(arguments.texts, name)
            chunks, size = chunks_of(path)
            check(arguments.build, folder, tokenizer, chunks)
            pairs = [(theirs(tokenizer, chunks), ours(arguments.build, folder, path)) for _ in range(arguments.rounds)]
            a, b = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            results.append({"tokenizer": os.path.basename(folder.rstrip("/")), "text": name, "bytes": size,
                            "reference_mb_per_s": round(size / a / 1e6, 2), "tonnage_mb_per_s": round(size / b / 1e6, 2),
                            "ratio": round(a / b, 2)})
            print("{tokenizer:14} {text:14} {reference_mb_per_s:8.2f} MB/s {tonnage_mb_per_s:8.2f} MB/s  x{ratio}".format(**results[-1]),
                  flush=True)
    if arguments.out:
        processor = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
        with open(arguments.out, "w") as out:
            json.dump({"what": "encoding, one thread, pieces of 4 KiB", "reference": "tokenizers " + tokenizers.__version__,
                       "processor": processor, "rounds": arguments.rounds, "results": results}, out, indent=1)
            out.write("\n")
    sys.exit(0 if all(r["ratio"] >= 3 for r in results) else 1)


if __name__ == "__main__":
    main()
