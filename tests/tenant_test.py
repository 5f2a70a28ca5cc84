#!/usr/bin/env python3
"""A server and another program in one cgroup, which the other fills and leaves again: tenant_test.py TONNAGE MODEL"""
import http.client
import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

from cgroup import make_cgroup

TONNAGE, MODEL = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
MIB = 1 << 20
# A queue whose tokens are promised memory that nobody touches before so many wait.
QUEUE_TOKENS = 50_000_000
SPARE = 128 * MIB
DEADLINE_S = 60
# Takes so many bytes for each line, touches all of them, and gives back the ones before.
TENANT = "import sys\nfor line in sys.stdin:\n  held = None; held = b'x' * int(line); print(len(held), flush=True)\n"


class Server:
    def __init__(self, group):
        self.process = subprocess.Popen(
            [TONNAGE, "serve", MODEL, "--port", "0", "--context", "256", "--slots", "1", "--queue-tokens", str(QUEUE_TOKENS), "--quiet"],
            stdout=subprocess.PIPE, text=True, preexec_fn=group.enter)
        self.ready = json.loads(self.process.stdout.readline())
        self.quote = self.ready["quote"]["total_bytes"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.ready["address"].removeprefix("http://"), timeout=60)
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def complete(self):
        return self.ask("POST", "/v1/completions", {"model": self.ready["model"], "prompt": "Hello", "max_tokens": 4, "temperature": 0})

    def gauge(self, name):
        return float(re.search(rf"^{name}{{.*}} (\S+)$", self.ask("GET", "/metrics")[1], re.M)[1])

    def complete_until(self, status):
        """The first answer with this status; any other must be a whole answer or a clean refusal."""
        give_up = time.monotonic() + DEADLINE_S
        while time.monotonic() < give_up:
            answer, text = self.complete()
            assert answer.status in (200, 429), text
            if answer.status == status:
                return answer, text
            time.sleep(0.1)
        raise AssertionError(f"never {status}")

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=60)


class Tenant(unittest.TestCase):
    def setUp(self):
        self.group = make_cgroup()
        if self.group is None:
            self.skipTest("this machine lets nobody make a memory cgroup here")
        self.addCleanup(self.group.remove)

    def grow(self, size):
        self.tenant.stdin.write(f"{size}\n")
        self.tenant.stdin.flush()
        self.assertEqual(int(self.tenant.stdout.readline()), size)

    def test_new_requests_are_refused_while_promised_memory_is_somebody_elses(self):
        server = Server(self.group)
        self.addCleanup(server.process.communicate)
        self.addCleanup(server.process.kill)
        self.tenant = subprocess.Popen([sys.executable, "-c", TENANT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       preexec_fn=self.group.enter)
        self.addCleanup(self.tenant.communicate)
        self.addCleanup(self.tenant.kill)
        self.group.set_limit(server.quote + SPARE)
        answer, alone = server.complete()
        self.assertEqual(answer.status, 200, alone)
        self.assertEqual(server.gauge("tonnage_memory_pressure"), 0)

        self.grow(SPARE + 64 * MIB)  # there is room for it: the server has not touched what it was promised
        answer, text = server.complete_until(429)
        self.assertGreaterEqual(int(answer.getheader("Retry-After")), 1)
        self.assertRegex(text, r"memory is short: .* are promised, and the cgroup's memory\S+ leaves .*MiB")
        self.assertEqual(server.gauge("tonnage_memory_pressure"), 2)
        self.assertLess(server.gauge("tonnage_budget_bytes"), server.quote)
        self.assertEqual(server.ask("GET", "/ready")[0].status, 200)

        self.grow(1)
        _, again = server.complete_until(200)
        self.assertEqual(json.loads(again)["choices"], json.loads(alone)["choices"])
        self.assertEqual(server.gauge("tonnage_memory_pressure"), 0)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
