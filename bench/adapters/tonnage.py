"""Tonnage through its own program."""
import json
import subprocess


class Tonnage:
    name = "tonnage"

    def __init__(self, model, threads, context, program="build/tonnage", extra=()):
        self.command = [program, "bench", str(model), "--threads", str(threads), "--context", str(context), "--json", *extra]
        self.version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip()

    def _bench(self, ids, generate):
        run = subprocess.run(self.command + ["--ids", json.dumps(ids), "--generate", str(generate), "--repeat", "1"],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def greedy(self, ids, count):
        return self._bench(ids, count)["ids"]

    def prefill(self, ids):
        return self._bench(ids, 1)["prefill_tokens_per_s"]

    def decode(self, ids, count):
        return self._bench(ids, count)["decode_tokens_per_s"]
