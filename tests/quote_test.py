#!/usr/bin/env python3
"""Quotes against what processes really hold, and loads under budgets that rise: quote_test.py TONNAGE PROBE FOLDER

The models are random weights in real shapes, made by random_gguf.py into FOLDER and kept there."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time
import unittest

import random_gguf
from cgroup import make_cgroup

TONNAGE, PROBE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
FOLDER = pathlib.Path(sys.argv[3])
# Real widths; where the layers are many, fewer of them.
SHAPES = {"smol135m": 30, "llama1b": 4, "qwen3_moe": 3}
MIB = 1 << 20
STEPS = 64


def model(name, layers):
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}_{layers}.gguf"
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        random_gguf.write_model(name, layers, unfinished)
        unfinished.rename(path)
    return path


def anonymous_bytes(pid):
    """What the process holds beside mapped files, exactly; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            fields = dict(line.split(":") for line in rollup if ":" in line and line[0].isupper())
        return sum(int(fields[key].split()[0]) * 1024 for key in ("Anonymous", "Swap"))
    except (OSError, KeyError):
        return 0


def probe(path, *args):
    """What the probe says, with the highest that the process with the model was seen to hold as "peak"."""
    process = subprocess.Popen([PROBE, path, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    peak, done = 0, threading.Event()
    line = process.stdout.readline()  # when the model is loaded
    assert line, f"{path} {args}: {process.communicate()[1]}"
    process_id = json.loads(line)["process_id"]

    def watch():
        nonlocal peak
        while not done.is_set():
            peak = max(peak, anonymous_bytes(process_id))
            time.sleep(0.05)  # a look stops the process for a moment

    watcher = threading.Thread(target=watch)
    watcher.start()
    line = process.stdout.readline()  # it holds everything until it is told to go on
    done.set()
    watcher.join()
    peak = max(peak, anonymous_bytes(process_id))
    _, errors = process.communicate("\n", timeout=60)
    assert process.returncode == 0, f"{path} {args}: {errors}"
    return json.loads(line) | {"peak": peak}


class Peak(unittest.TestCase):
    """After a load and a run at full context in all slots, the process and the ledger are within 1% below the quote."""

    def check(self, said, what):
        for key in ("peak", "anonymous", "ledger_peak"):
            share = said[key] / said["quote"]
            if key != "anonymous":
                print(f"{what:34} {key:12} {said[key] / MIB:9.2f} MiB = {100 * share:7.3f}% of the quote", file=sys.stderr)
            self.assertLessEqual(share, 1, f"{what}: {key} is more than was quoted: {said}")
        for key in ("peak", "ledger_peak"):
            self.assertGreaterEqual(said[key] / said["quote"], 0.99, f"{what}: {key} is too far below the quote: {said}")

    def test_three_shapes_at_three_contexts(self):
        for name, layers in SHAPES.items():
            for context, slots in ((512, 4), (2048, 2), (4096, 1)):
                with self.subTest(shape=name, context=context):
                    self.check(probe(model(name, layers), "--context", context, "--slots", slots),
                               f"{name}, {slots} x {context} tokens")

    def test_the_process_of_a_servers_model(self):
        queue = ("--queue-requests", 200, "--queue-tokens", 150000)
        for name, context, slots, more in (("smol135m", 512, 4, ()), ("smol135m", 4096, 1, ()), ("llama1b", 2048, 2, ()),
                                           ("llama1b", 1000, 3, queue)):
            with self.subTest(shape=name, context=context):
                self.check(probe(model(name, SHAPES[name]), "--context", context, "--slots", slots, "--runner", TONNAGE, *more),
                           f"{name}, {slots} x {context}, runner")

    def test_a_full_queue_is_in_the_quote(self):
        said = probe(model("smol135m", SHAPES["smol135m"]), "--context", 1000, "--slots", 3,
                     "--queue-requests", 200, "--queue-tokens", 150000)
        self.check(said, "smol135m, full queue")

    def test_every_width_of_the_cache(self):
        for dtype in ("f32", "bf16", "q8"):
            with self.subTest(kv=dtype):
                self.check(probe(model("smol135m", 8), "--context", 1000, "--slots", 2, "--kv", dtype), f"smol135m, {dtype} cache")


class RisingBudget(unittest.TestCase):
    """From nothing to plenty in 64 steps: refused with the numbers until the quote fits, then a full context is served."""

    CONTEXT = 512
    PATH = model("smol135m", 8)
    SERVE = [TONNAGE, "bench", PATH, "--context", CONTEXT, "--prompt", CONTEXT - 32, "--generate", 32, "--repeat", 1, "--json",
             "--no-bounds"]

    @classmethod
    def setUpClass(cls):
        run = subprocess.run([TONNAGE, "plan", cls.PATH, "--context", str(cls.CONTEXT), "--json"], capture_output=True, text=True)
        cls.plan = json.loads(run.stdout)["plans"][0]
        cls.total = cls.plan["total_bytes"]

    def serve(self, *args, **options):
        return subprocess.run([str(word) for word in (*self.SERVE, *args)], capture_output=True, text=True, timeout=120, **options)

    def climb(self, what, least, most, run_under, source):
        """The lowest of 64 limits from `least` to `most` at which the model was served."""
        step = (most - least) // STEPS
        served_at = None
        for i in range(STEPS):
            limit = least + i * step
            run = run_under(limit)
            where = f"{what} {limit / MIB:.1f} MiB: exit {run.returncode}: {run.stderr}"
            self.assertIn(run.returncode, (0, 3), where)
            if run.returncode == 0:
                self.assertEqual(len(json.loads(run.stdout)["ids"]), 32, where)
                served_at = served_at or limit
                continue
            self.assertIsNone(served_at, "served with less, then refused: " + where)
            self.assertRegex(run.stderr, r"tonnage: .*(needed|memory)", where)
            refused = run.stderr
        self.assertIsNotNone(served_at, f"{what}: never served; last: {where}")
        self.assertGreater(served_at, least, f"{what}: never refused")
        # The last refusal was one with everything at hand but what the quote says is missing.
        self.assertRegex(refused, rf"MiB needed, .* allowed by {source}; .* is ")
        print(f"{what:34} served from {served_at / MIB:.1f} MiB; quoted {self.total / MIB:.1f}", file=sys.stderr)
        return served_at, step

    def test_by_flag(self):
        served_at, step = self.climb("--memory-limit", 0, self.total * 3 // 2, lambda limit: self.serve("--memory-limit", limit), "--memory-limit")
        self.assertLess(abs(served_at - self.total), step + MIB)

    def test_by_variable(self):
        for limit, code in ((self.total + MIB, 0), (self.total - MIB, 3), (self.plan["weights_bytes"] - 1, 3), ("1T", 0)):
            run = self.serve(env=os.environ | {"TONNAGE_MEMORY_LIMIT": str(limit)})
            self.assertEqual(run.returncode, code, run.stderr)
            if code == 3:
                self.assertIn("TONNAGE_MEMORY_LIMIT", run.stderr)

    def test_by_address_space(self):
        def limited(limit):
            return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        def starts(limit):
            return subprocess.run([TONNAGE, "version"], capture_output=True, preexec_fn=limited(limit)).returncode == 0

        # Below this the system does not even bring the program's libraries into memory.
        least = next(limit for limit in range(0, 4096 * MIB, MIB) if starts(limit))
        # Beside what is quoted, address space goes to the mapped file, to libraries and to whole stacks.
        most = least + self.total + self.PATH.stat().st_size + 64 * MIB
        self.climb("RLIMIT_AS", least, most, lambda limit: self.serve(preexec_fn=limited(limit)), r"RLIMIT_AS \(ulimit -v\)")

    def test_by_cgroup(self):
        group = make_cgroup()
        if group is None:
            self.skipTest("this machine lets nobody make a memory cgroup here")

        def run_under(limit):
            group.set_limit(limit)
            return self.serve(preexec_fn=group.enter)

        try:
            # A process of nothing but its libraries needs some memory to come to the first line of main.
            self.climb("cgroup", 16 * MIB, self.total * 3 // 2, run_under, r"the cgroup's memory\S+")
        finally:
            group.remove()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
