"""Tonnage through its own program."""
import json
import subprocess


class Tonnage:
    name = "tonnage"

    def __init__(self, model, threads, program="build/tonnage", extra=()):
        self.command = [program, "bench", str(model), "--threads", str(threads), "--json", *extra]
        self.version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip()
        self.bound = None  # of the last measurement, tokens/s

    def _bench(self, ids, generate, *more):
        run = subprocess.run(self.command + ["--ids", json.dumps(ids), "--generate", str(generate), "--repeat", "1", *more],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def _speed(self, work, ids, generate, *more):
        figure = next(f for f in self._bench(ids, generate, *more)["figures"] if f["work"] == work)
        self.bound = figure["bound_tokens_per_s"]
        return figure["tokens_per_s"]

    def greedy(self, ids, count):
        return self._bench(ids, count, "--no-bounds")["ids"]

    def prefill(self, ids):
        return self._speed("prefill", ids, 1)

    def decode(self, ids, count):
        return self._speed("decode", ids, count)

    def batch(self, ids, requests, count):
        return self._speed("batch", ids, count, "--batch", str(requests))
