#!/usr/bin/env python3
"""What becomes of a server's clients when a model's process dies, stops or cannot start: serve_faults_test.py TONNAGE SOURCE_DIR"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serving import Server, make_chat_model, post

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CHAT_FOLDER, CHAT = make_chat_model(sys.argv[2])
# Where runners' logs are left after a crash.
TEMPORARY = tempfile.TemporaryDirectory()
os.environ["TMPDIR"] = TEMPORARY.name
STREAMS = 16
TERMINAL_SECONDS = 2
WAIT_SECONDS = 60
# So many tokens that no answer ends by itself while a test looks at it.
LONG = 15000


def second_model(name="other"):
    path = CHAT.parent / name
    shutil.copytree(CHAT, path)
    return path


def wait_for(what, condition):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {WAIT_SECONDS} s"
        time.sleep(0.01)


def runner_of(server, model):
    """The process that runs the model; 0 when there is none."""
    text = server.get("/metrics")[1]
    return int(float(re.search(rf'^tonnage_runner_process_id{{model_name="{model}"}} (\S+)$', text, re.MULTILINE)[1]))


def wait_for_runner(server, model, not_this=0):
    wait_for(f"a runner of {model}", lambda: runner_of(server, model) not in (0, not_this))
    wait_for(f"{model} is ready", lambda: server.get(f"/ready?model={model}")[0] == 200)
    return runner_of(server, model)


def is_gone(process_id):
    try:
        return pathlib.Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Stream(threading.Thread):
    """One client with an answer under way. What it was sent is in `events`, and when the last came in `ended_at`."""

    def __init__(self, server, model, prompt, max_tokens=LONG):
        super().__init__(daemon=True)
        self.server, self.events, self.ended_at, self.begun = server, [], None, threading.Event()
        body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "stream": True, "ignore_eos": True, "temperature": 0}
        self.request = post("/v1/completions", json.dumps(body).encode())
        self.raw = b""
        self.start()

    def run(self):
        with self.server.connect() as sock:
            sock.settimeout(4 * WAIT_SECONDS)
            sock.sendall(self.request)
            with contextlib.suppress(ConnectionResetError):
                while block := sock.recv(65536):
                    self.raw += block
                    if b"data: " in self.raw:
                        self.begun.set()
            self.ended_at = time.monotonic()
            self.begun.set()

    def status(self):
        return int(self.raw.split()[1])

    def body(self):
        """The answer without HTTP's chunks."""
        head, _, rest = self.raw.partition(b"\r\n\r\n")
        if b"chunked" not in head.lower():
            return rest.decode()
        body = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
        return body.decode()

    def error(self):
        """The error that ended it: of the last event of a stream that has begun, else the answer's. None when it ended well."""
        body = self.body()
        if self.status() != 200:
            return json.loads(body)["error"]
        events = [event.removeprefix("data: ") for event in body.split("\n\n") if event]
        assert [event for event in events if event == "[DONE]"] == (["[DONE]"] if events[-1] == "[DONE]" else []), events[-3:]
        errors = [json.loads(event)["error"] for event in events if event.startswith('{"error"')]
        assert len(errors) + (events[-1] == "[DONE]") == 1, f"{len(errors)} errors; the end: {events[-3:]}"
        return errors[0] if errors else None


class Faults(unittest.TestCase):
    """Two models, 16 streams on the first and some on the second; then something happens to the first's process."""

    def setUp(self):
        self.other = second_model(self.id().rsplit(".", 1)[1])
        self.addCleanup(shutil.rmtree, self.other)
        self.server = self.enterContext(
            Server(PROGRAM, CHAT, self.other, "--context", 16384, "--slots", 4, "--heartbeat-ms", self.heartbeat_ms(), "--quiet"))

    def heartbeat_ms(self):
        return 3000 if "stop" in self.id() else 60000

    def hit(self, number, cause, seconds):
        """Sends the signal to the chat model's runner; everything that must hold then."""
        server, other = self.server, self.other.name
        bystanders = [Stream(server, other, f"other {i}", 6000) for i in range(2)]
        for stream in bystanders:
            self.assertTrue(stream.begun.wait(WAIT_SECONDS))
        streams = [Stream(server, "chat", f"question {i}") for i in range(STREAMS)]
        wait_for("four of them have slots", lambda: sum(stream.begun.is_set() for stream in streams) == 4)
        runner, other_runner = runner_of(server, "chat"), runner_of(server, other)
        self.assertNotIn(0, (runner, other_runner))
        server.wait_for_metric("tonnage_requests_waiting", STREAMS - 4)
        os.kill(runner, number)
        hit_at = time.monotonic()
        saw_unready = False
        while any(stream.ended_at is None for stream in streams):
            self.assertLess(time.monotonic() - hit_at, WAIT_SECONDS, "streams without an end")
            self.assertEqual(server.get("/health")[0], 200)
            saw_unready = saw_unready or server.get("/ready")[0] == 503
            time.sleep(0.01)
        # A stall may be told, and the process replaced, between two looks; it takes longer than one look to start another.
        saw_unready = saw_unready or server.get("/ready")[0] == 503
        for stream in streams:
            error = stream.error()
            self.assertIsNotNone(error)
            self.assertEqual(error["code"], "service_unavailable")
            self.assertIn(cause, error["message"])
            self.assertIn("sent again", error["message"])
        last = max(stream.ended_at for stream in streams) - hit_at
        self.assertLess(last, seconds + TERMINAL_SECONDS)
        self.assertTrue(is_gone(runner))
        # The model serves again by itself, in another process, and the other model has noticed nothing.
        self.assertNotEqual(wait_for_runner(server, "chat", runner), runner)
        again = Stream(server, "chat", "again", 5)
        again.join(WAIT_SECONDS)
        self.assertIsNone(again.error())
        for stream in bystanders:
            stream.join(WAIT_SECONDS)
            self.assertIsNone(stream.error())
        self.assertEqual(runner_of(server, other), other_runner)
        self.assertEqual(server.metric("tonnage_runner_crashes"), 1)
        return saw_unready

    def test_kill(self):
        self.hit(signal.SIGKILL, "killed by SIGKILL", 0)

    def test_segv_leaves_a_report(self):
        self.hit(signal.SIGSEGV, "died of SIGSEGV", 0)
        report = self.runner_log()
        self.assertIn("crash report of process", report)
        self.assertGreaterEqual(len(re.findall(r"^thread \d+:$", report, re.MULTILINE)), 3)
        self.assertRegex(report, r"memory held: weights \d+ .* peak \d+")
        self.assertRegex(report, r"(in|after) step \d+: \d+ rows of \d requests")
        self.assertEqual(self.server.stop()[0], 0)
        self.assertEqual(self.runner_log(), report)

    def test_stop_is_a_stall(self):
        self.assertTrue(self.hit(signal.SIGSTOP, "stalled", 3))
        self.assertIn("as the system sees them", self.runner_log())

    def runner_log(self):
        logs = pathlib.Path(re.search(r"runners print to (\S+)", self.server.log_text())[1])
        return (logs / "chat.log").read_text()


class Recovery(unittest.TestCase):
    def test_no_runner_survives_its_server(self):
        for stopped in (False, True):
            with self.subTest(stopped=stopped), Server(PROGRAM, CHAT, "--context", 512, "--slots", 1) as server:
                runner = runner_of(server, "chat")
                self.assertEqual(server.ready["process_id"], runner)
                if stopped:
                    os.kill(runner, signal.SIGSTOP)
                server.process.kill()
                server.process.wait()
                wait_for("the runner's end", lambda: is_gone(runner))

    def test_a_clean_end_leaves_nothing(self):
        with Server(PROGRAM, CHAT, "--context", 512, "--slots", 1) as server:
            runner = runner_of(server, "chat")
            logs = pathlib.Path(re.search(r"runners print to (\S+)", server.log_text())[1])
            self.assertTrue(logs.exists())
            self.assertEqual(server.stop(), (0, ""))
            self.assertTrue(is_gone(runner))
            self.assertFalse(logs.exists())

    def test_the_request_of_two_successive_crashes_is_refused(self):
        with Server(PROGRAM, CHAT, "--context", 16384, "--slots", 2) as server:
            for _ in range(2):
                runner = wait_for_runner(server, "chat")
                poison = Stream(server, "chat", "poison")
                self.assertTrue(poison.begun.wait(WAIT_SECONDS))
                os.kill(runner, signal.SIGKILL)
                poison.join(WAIT_SECONDS)
                self.assertIn("SIGKILL", poison.error()["message"])
                wait_for_runner(server, "chat", runner)
            refused = Stream(server, "chat", "poison")
            refused.join(WAIT_SECONDS)
            self.assertEqual(refused.status(), 400)
            self.assertIn("twice in a row", refused.error()["message"])
            other = Stream(server, "chat", "harmless", 5)
            other.join(WAIT_SECONDS)
            self.assertIsNone(other.error())

    def test_a_model_that_dies_while_loading_is_left_alone_for_a_while(self):
        model = second_model("loads")
        self.addCleanup(shutil.rmtree, model)
        logs = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(full_pipe(logs / "loads.log"))
        with Server(PROGRAM, CHAT, model, "--context", 512, "--slots", 1, "--runner-logs", logs) as server:
            pids, retries = set(), []
            for attempt in range(3):
                first = Stream(server, "loads", "x", 5)
                starts = r"loads: runner (\d+) starts"
                wait_for("a runner", lambda: len(re.findall(starts, server.log_text())) == attempt + 1)
                pid = int(re.findall(starts, server.log_text())[-1])
                pids.add(pid)
                wait_for("it says what it will hold", lambda: "pipe_write" in wchan(pid))
                os.kill(pid, signal.SIGKILL)
                first.join(WAIT_SECONDS)
                self.assertEqual(first.status(), 503)
                self.assertIn("died while loading: killed by SIGKILL", first.error()["message"])
                refused = Stream(server, "loads", "y", 5)
                refused.join(WAIT_SECONDS)
                self.assertEqual(refused.status(), 503)
                self.assertRegex(refused.error()["message"], r"tried again in \d+ s")
                retries.append(int(re.search(rb"Retry-After: (\d+)", refused.raw)[1]))
                self.assertEqual(server.get("/health")[0], 200)
                self.assertEqual(server.get("/ready?model=loads")[0], 503)
                self.assertEqual(server.get("/ready?model=chat")[0], 200)
                time.sleep(retries[-1])
            self.assertEqual(len(pids), 3)
            self.assertEqual(retries, [1, 2, 4])
            (logs / "loads.log").unlink()
            good = Stream(server, "loads", "x", 5)
            good.join(WAIT_SECONDS)
            self.assertIsNone(good.error())
            self.assertEqual(server.get("/ready")[0], 200)


@contextlib.contextmanager
def full_pipe(path):
    """A file that nobody can write to and go on: a runner that logs there waits in the middle of its load, where it can be hit."""
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    for block in (b"x" * 4096, b"x"):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, block)
    yield
    os.close(pipe)


def wchan(pid):
    """What the process waits for in the kernel."""
    try:
        return pathlib.Path(f"/proc/{pid}/wchan").read_text()
    except FileNotFoundError:
        return ""


class Room(unittest.TestCase):
    """Several models within one budget."""

    def setUp(self):
        self.models = [CHAT, second_model("second"), second_model("third")]
        for model in self.models[1:]:
            self.addCleanup(shutil.rmtree, model)

    def serve(self, *options):
        return self.enterContext(Server(PROGRAM, *self.models, "--context", 4096, "--slots", 1, *options))

    def ask(self, server, model):
        stream = Stream(server, model, "hello", 5)
        stream.join(WAIT_SECONDS)
        return stream

    def loaded(self, server):
        return [model.name for model in self.models if runner_of(server, model.name)]

    def test_models_are_loaded_when_asked_for_and_make_room(self):
        with Server(PROGRAM, CHAT, "--context", 4096, "--slots", 1) as server:
            price = server.get("/plan?context_tokens=4096")[1]["plans"][0]["total_bytes"]
        server = self.serve("--memory-limit", price * 5 // 2)
        self.assertEqual(self.loaded(server), ["chat"])
        self.assertIsNone(self.ask(server, "second").error())
        self.assertEqual(self.loaded(server), ["chat", "second"])
        self.assertIsNone(self.ask(server, "chat").error())  # used later than the second
        self.assertIsNone(self.ask(server, "third").error())
        self.assertEqual(self.loaded(server), ["chat", "third"])
        self.assertEqual(server.get("/ready")[0], 200)

        # None that works is unloaded.
        working = [Stream(server, model, "long", 3500) for model in ("chat", "third")]
        for stream in working:
            self.assertTrue(stream.begun.wait(WAIT_SECONDS))
        refused = self.ask(server, "second")
        self.assertEqual(refused.status(), 503)
        self.assertIn("models that are working", refused.error()["message"])
        self.assertIn(b"Retry-After", refused.raw)
        self.assertEqual(self.loaded(server), ["chat", "third"])

    def test_an_unused_model_is_unloaded(self):
        server = self.serve("--keep-alive", "0.2")
        wait_for("the model is unloaded", lambda: self.loaded(server) == [])
        self.assertEqual(server.get("/ready")[0], 200)
        self.assertEqual(server.get("/tokenize", {"content": "x"})[0], 200)
        self.assertIsNone(self.ask(server, "chat").error())
        self.assertEqual(server.metric("tonnage_runner_crashes"), 0)

    def test_a_runner_is_for_servers_only(self):
        run = subprocess.run([PROGRAM, "runner", CHAT], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("tonnage serve", run.stderr)
        run = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60)
        self.assertNotIn("runner", run.stdout)

    def test_names_must_differ(self):
        run = subprocess.run([PROGRAM, "serve", CHAT, CHAT], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 2, run.stderr)
        run = subprocess.run([PROGRAM, "serve", *self.models, "--served-name", "x"], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 2, run.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
