"""A server under test, and the small model that it serves."""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request


def make_chat_model(source_dir):
    """A model with a voice: the golden llama's weights with a small tokenizer and template, and room for long answers."""
    golden = pathlib.Path(source_dir) / "tests" / "golden"
    folder = tempfile.TemporaryDirectory()
    path = pathlib.Path(folder.name) / "chat"
    path.mkdir()
    for source in (golden / "models" / "llama", golden / "tiny_chat"):
        for file in source.iterdir():
            shutil.copy(file, path)
    config = json.loads((path / "config.json").read_text())
    config["max_position_embeddings"] = 16384
    (path / "config.json").write_text(json.dumps(config))
    return folder, path


class Server:
    """`tonnage serve`, ready. Its log goes to a file, so that it never waits for a reader."""

    SECONDS = 60

    def __init__(self, program, *arguments, env=None):
        self.log = tempfile.NamedTemporaryFile("w+")
        self.process = subprocess.Popen([program, "serve", "--port", "0", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, env=os.environ | (env or {}))
        if not select.select([self.process.stdout], [], [], self.SECONDS)[0]:
            self.process.kill()
            raise AssertionError(f"not ready after {self.SECONDS} s: {self.log_text()}")
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"ended with {self.process.wait()} before it was ready: {self.log_text()}")
        self.ready = json.loads(line)
        self.url = self.ready["address"]
        self.model = self.ready["model"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.log.close()

    def log_text(self):
        return pathlib.Path(self.log.name).read_text()

    def stop(self):
        """Asks for the end, and answers the exit code and what else was on standard output."""
        self.process.send_signal(signal.SIGTERM)
        try:
            rest, _ = self.process.communicate(timeout=self.SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"does not stop: {self.log_text()}") from None
        return self.process.returncode, rest

    def get(self, path, body=None, headers=None):
        """The status and the parsed body (the text of what is no JSON)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"} | (headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=self.SECONDS) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        try:
            return status, json.loads(text)
        except json.JSONDecodeError:
            return status, text

    def metric(self, name):
        """The sum of the metric over its labels."""
        _, text = self.get("/metrics")
        values = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        assert values, f"no metric {name}"
        return sum(map(float, values))

    def wait_for_metric(self, name, value):
        deadline = time.monotonic() + self.SECONDS
        while self.metric(name) != value:
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} is {self.metric(name)}, not {value}")
            time.sleep(0.01)

    def connect(self):
        host, port = self.url.rsplit("/", 1)[-1].rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=self.SECONDS)


def read_answer(sock):
    """All that comes until the other side closes: status and body; None when nothing came."""
    data = b""
    try:
        while block := sock.recv(65536):
            data += block
    except ConnectionResetError:
        pass
    if not data:
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def post(path, body, *more_headers, length=None):
    """The bytes of a POST after which the server is to close."""
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Connection: close",
            f"Content-Length: {len(body) if length is None else length}", *more_headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body
