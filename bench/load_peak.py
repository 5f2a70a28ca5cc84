"""The memory that a load takes at its highest, and how fast it is, for every storage mode: load_peak.py TONNAGE
[--gigabytes 2] [--modes MODE...] [--folder DIR] [--slack-mib 32] [--repeat 3] [--threads N] [--json OUT]   (needs: pip install numpy)

For each mode a checkpoint of random weights is written (random_checkpoint.py), read once so that it lies in the page cache,
and loaded for a single token. The peak of the process's resident memory, mapped file pages included, must not exceed
weights + one layer + 5% of the weights, beside cache, arena, workspace and staging, as the plan prices them, and a fixed
slack for the program itself. The rate is what the program says: the weights' bytes in the checkpoint over the time until all lie
repacked in memory. Beside it stand the rates at which read() takes the same file from the page cache on one thread: into memory
that is fresh, as a load's is (the kernel clears each page first), and into one small buffer again and again. Medians of several
rounds in turn after one that does not count, since a virtual machine may have to ask its host for the memory first.
"""
import argparse, json, mmap, os, re, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

MODES = ["float32", "float16", "bfloat16", "affine-2-64", "affine-3-64", "affine-4-64", "affine-5-64", "affine-6-64", "affine-8-64",
         "affine-4-32", "mxfp4", "mxfp8", "nvfp4", "awq", "gptq", "fp8"]
GENERATOR = Path(__file__).with_name("random_checkpoint.py")


def read_rate(path):
    """Bytes a second into one buffer."""
    buffer = bytearray(1 << 22)
    begin, total = time.perf_counter(), 0
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            total += count
    return total / (time.perf_counter() - begin)


def fresh_rate(path):
    """Bytes a second into memory that nobody has touched, in huge pages where the kernel gives them."""
    size = path.stat().st_size
    begin, total = time.perf_counter(), 0
    with mmap.mmap(-1, size) as memory, open(path, "rb", buffering=0) as file, memoryview(memory) as view:
        memory.madvise(mmap.MADV_HUGEPAGE)
        while total < size:
            with view[total:total + (1 << 22)] as part:
                total += file.readinto(part)
        return total / (time.perf_counter() - begin)


def run(command, stdin):
    """Seconds of the load and the peak of resident memory of one run."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdin.write(stdin)
    child.stdin.close()
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command}: exit code {child.returncode}\n{said}")
    return float(re.search(r"\[loaded: .* in ([0-9.]+) s", said).group(1)), usage.ru_maxrss * 1024


def measure(program, mode, gigabytes, folder, slack, repeat, threads):
    model = folder / mode
    subprocess.run([sys.executable, str(GENERATOR), mode, str(model), "--gigabytes", str(gigabytes)], check=True)
    file = model / "model.safetensors"
    settings = ["--context", "64", *(["--threads", str(threads)] if threads else [])]
    plan = json.loads(subprocess.run([program, "plan", str(model), "--json", *settings], capture_output=True, text=True, check=True).stdout)
    row = plan["plans"][0]
    weights = row["weights_bytes"]
    beside = sum(row[key] for key in ("kv_bytes", "arena_bytes", "workspace_bytes", "staging_bytes"))
    command = [program, "logits", str(model), "--out", str(model / "out"), *settings]
    runs, rates, fresh_rates = [], [], []
    for _ in range(repeat + 1):  # in turn, so that whatever else the machine does meets both
        rates.append(read_rate(file))
        fresh_rates.append(fresh_rate(file))
        runs.append(run(command, "[1]\n"))
    cache_rate, fresh = statistics.median(rates[1:]), statistics.median(fresh_rates[1:])
    seconds = statistics.median(seconds for seconds, _ in runs[1:])
    peak = max(peak for _, peak in runs)
    layers = json.loads((model / "config.json").read_text())["num_hidden_layers"]
    limit = weights * 1.05 + weights / layers + beside + slack
    file_bytes = file.stat().st_size
    shutil.rmtree(model)
    return {"mode": mode, "file_bytes": file_bytes, "weights_bytes": weights, "peak_bytes": peak, "limit_bytes": int(limit),
            "seconds": round(seconds, 3), "load_bytes_per_s": int(file_bytes / seconds), "fresh_bytes_per_s": int(fresh), "cache_bytes_per_s": int(cache_rate)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--slack-mib", type=float, default=32)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, help="of the load (default: all cores)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    print(f"{'mode':14} {'file':>8} {'weights':>8} {'peak':>8} {'limit':>8}  {'load':>7} {'fresh':>7} {'read()':>7} {'load/fresh':>10}   (MiB, MB/s)")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for mode in args.modes:
            r = measure(args.program, mode, args.gigabytes, Path(folder), args.slack_mib * 2**20, args.repeat, args.threads)
            results.append(r)
            mib = [r[key] / 2**20 for key in ("file_bytes", "weights_bytes", "peak_bytes", "limit_bytes")]
            good = "ok" if r["peak_bytes"] <= r["limit_bytes"] else "TOO MUCH"
            print(f"{mode:14} " + " ".join(f"{m:8.0f}" for m in mib) +
                  f"  {r['load_bytes_per_s'] / 1e6:7.0f} {r['fresh_bytes_per_s'] / 1e6:7.0f} {r['cache_bytes_per_s'] / 1e6:7.0f}"
                  f" {r['load_bytes_per_s'] / r['fresh_bytes_per_s']:10.2f}  {good}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(0 if all(r["peak_bytes"] <= r["limit_bytes"] for r in results) else 1)


main()
