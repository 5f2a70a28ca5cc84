#!/usr/bin/env python3
"""`tonnage serve` as its clients see it: serve_test.py TONNAGE SOURCE_DIR. Needs the official openai client."""
import concurrent.futures
import http.client
import json
import pathlib
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import openai

import openai_checks
from hostile import hostile_inputs
from serving import Server, make_chat_model, post, read_answer

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CHAT_FOLDER, CHAT = make_chat_model(sys.argv[2])
GREEDY = {"temperature": 0, "extra_body": {"ignore_eos": True}}


def serve(*options, env=None):
    return Server(PROGRAM, CHAT, *options, env=env)


def client_of(server, **options):
    return openai.OpenAI(**{"base_url": server.url + "/v1", "api_key": "none", "max_retries": 0, "timeout": 120} | options)


def question(i):
    return [{"role": "user", "content": f"Question {i}: " + "why " * (i % 7)}]


def stream_text(client, model, i, max_tokens, chunks=None):
    """The streamed answer, or the first `chunks` of it, after which the client hangs up."""
    stream = client.chat.completions.create(model=model, messages=question(i), max_tokens=max_tokens, stream=True, **GREEDY)
    text, reasons = "", []
    for at, chunk in enumerate(stream):
        if chunks is not None and at >= chunks:
            stream.close()
            return None
        text += chunk.choices[0].delta.content or ""
        if chunk.choices[0].finish_reason:
            reasons.append(chunk.choices[0].finish_reason)
    assert reasons == ["length"], reasons
    return text


class Streams(unittest.TestCase):
    STREAMS = 16

    def setUp(self):
        self.server = self.enterContext(serve("--context", 2048, "--slots", 4))
        self.lengths = [120 + 40 * (i % 5) for i in range(self.STREAMS)]
        client = client_of(self.server)
        self.alone = [stream_text(client, self.server.model, i, n) for i, n in enumerate(self.lengths)]

    def ask_all(self, chunks):
        with concurrent.futures.ThreadPoolExecutor(self.STREAMS) as pool:
            jobs = [pool.submit(stream_text, client_of(self.server), self.server.model, i, self.lengths[i], chunks[i])
                    for i in range(self.STREAMS)]
            return [job.result() for job in jobs]

    def assert_everything_is_back(self):
        self.server.wait_for_metric("tonnage_requests_running", 0)
        self.server.wait_for_metric("tonnage_requests_waiting", 0)
        self.assertEqual(self.server.metric("tonnage_kv_usage_ratio"), 0)

    def test_sixteen_at_once_are_each_as_if_alone(self):
        self.assertEqual(self.ask_all([None] * self.STREAMS), self.alone)
        self.assert_everything_is_back()
        self.assertEqual(self.server.metric("tonnage_time_to_first_token_seconds_count"), 2 * self.STREAMS)

    def test_clients_that_hang_up_disturb_nobody(self):
        rng = random.Random(3)
        for _ in range(3):
            gone = set(rng.sample(range(self.STREAMS), self.STREAMS // 3))
            chunks = [rng.randrange(0, 40) if i in gone else None for i in range(self.STREAMS)]
            answers = self.ask_all(chunks)
            self.assertEqual([a for i, a in enumerate(answers) if i not in gone],
                             [a for i, a in enumerate(self.alone) if i not in gone])
            self.assert_everything_is_back()


class Protocol(unittest.TestCase):
    def test_the_official_client_is_content(self):
        with serve("--context", 2048) as server:
            openai_checks.run(server.url + "/v1", server.model)

    def test_greedy_answers_are_those_of_run(self):
        with serve() as server:
            run = subprocess.run([PROGRAM, "run", CHAT, "hello", "--temperature", "0", "--max-tokens", "50"],
                                 capture_output=True, text=True, timeout=60)
            answer = client_of(server).chat.completions.create(
                model=server.model, messages=[{"role": "user", "content": "hello"}], max_tokens=50, temperature=0)
            self.assertEqual(answer.choices[0].message.content + "\n", run.stdout)

    def test_a_prompt_longer_than_the_context_is_400_with_both_numbers(self):
        with serve("--context", 256) as server:
            status, body = server.get("/v1/completions", {"model": server.model, "prompt": "x" * 300})
            self.assertEqual(status, 400)
            self.assertIn("the prompt has 30", body["error"]["message"])
            self.assertIn("the context is 256", body["error"]["message"])
            self.assertEqual(body["error"]["code"], "context_length_exceeded")


class Hostile(unittest.TestCase):
    def test_500_hostile_inputs_get_a_4xx_in_the_protocols_shape(self):
        with Server(PROGRAM, CHAT, "--context", 256, "--served-name", "chat", "--max-body-bytes", 65536, "--header-ms", 1000,
                    "--body-ms", 1000, "--idle-ms", 2000, "--quiet") as server:
            inputs = hostile_inputs()
            self.assertEqual(len(inputs), 500)

            def ask(named):
                name, data = named
                with server.connect() as sock:
                    try:
                        sock.sendall(data)
                    except (BrokenPipeError, ConnectionResetError):
                        pass  # refused before all of it was sent
                    return name, read_answer(sock)

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for name, answer in pool.map(ask, inputs):
                    with self.subTest(name[:200]):
                        self.assertIsNotNone(answer, "no answer")
                        self.assertIn(answer[0], range(400, 500), answer[1][:300])
                        error = json.loads(answer[1])["error"]
                        self.assertEqual(sorted(error), ["code", "message", "param", "type"])
                        self.assertTrue(error["message"])
            answer = client_of(server).chat.completions.create(model="chat", messages=question(1), max_tokens=5, **GREEDY)
            self.assertEqual(answer.usage.completion_tokens, 5)
            self.assertEqual(server.metric("tonnage_kv_usage_ratio"), 0)

    def test_a_slow_body_is_408(self):
        with serve("--body-ms", 300, "--body-bytes-per-second", 1000) as server, server.connect() as sock:
            sock.sendall(post("/v1/completions", b"", length=100_000))
            began = time.monotonic()
            with self.assertRaises((BrokenPipeError, ConnectionResetError, StopIteration)):
                while time.monotonic() - began < 30:
                    sock.sendall(b" ")
                    time.sleep(0.02)
                    sock.setblocking(False)
                    try:
                        data = sock.recv(4096)
                        self.assertIn(b" 408 ", data)
                        raise StopIteration
                    except BlockingIOError:
                        pass
                    sock.setblocking(True)
            self.assertLess(time.monotonic() - began, 20)

    def test_slow_readers_hold_nobody_up(self):
        with serve("--context", 16384, "--slots", 2) as server:
            body = json.dumps({"model": server.model, "prompt": "x", "max_tokens": 12000, "stream": True, "ignore_eos": True,
                               "temperature": 0, "logprobs": 5}).encode()
            with socket.socket() as slow:
                slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                slow.connect(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
                slow.sendall(post("/v1/completions", body))
                for i in range(5):
                    self.assertTrue(stream_text(client_of(server), server.model, i, 50))
                data = b""
                while not data.endswith(b"0\r\n\r\n"):
                    block = slow.recv(65536)
                    self.assertTrue(block, "the stream was cut")
                    data += block
            self.assertEqual(data.count(b"data: [DONE]"), 1)
            self.assertEqual(data.count(b'"finish_reason":"length"'), 1)


class Limits(unittest.TestCase):
    LONG = {"max_tokens": 15000, "stream": True} | GREEDY

    def test_beyond_the_queue_it_is_429_with_retry_after(self):
        with serve("--context", 16384, "--slots", 1, "--queue-requests", 1) as server:
            client = client_of(server)
            running = client.chat.completions.create(model=server.model, messages=question(0), **self.LONG)
            next(iter(running))
            waiting = threading.Thread(target=stream_text, args=(client_of(server), server.model, 1, 10, 3))
            waiting.start()
            server.wait_for_metric("tonnage_requests_waiting", 1)
            self.assertEqual(server.metric("vllm:num_requests_waiting"), 1)
            self.assertEqual(server.metric("vllm:kv_cache_usage_perc"), server.metric("tonnage_kv_usage_ratio"))
            self.assertGreater(server.metric("tonnage_kv_usage_ratio"), 0)
            with self.assertRaises(openai.RateLimitError) as refused:
                client.chat.completions.create(model=server.model, messages=question(2), max_tokens=5)
            self.assertGreaterEqual(int(refused.exception.response.headers["Retry-After"]), 1)
            self.assertEqual(refused.exception.code, "rate_limit_exceeded")
            running.close()
            waiting.join(60)
            server.wait_for_metric("tonnage_kv_usage_ratio", 0)

    def test_a_client_that_goes_frees_its_slot(self):
        with serve("--context", 16384, "--slots", 1) as server:
            for streamed in (True, False):
                body = {"model": server.model, "prompt": "x", "max_tokens": 16000, "ignore_eos": True, "stream": streamed}
                with server.connect() as sock:
                    sock.sendall(post("/v1/completions", json.dumps(body).encode()))
                    server.wait_for_metric("tonnage_requests_running", 1)
                server.wait_for_metric("tonnage_requests_running", 0)
                self.assertEqual(server.metric("tonnage_kv_usage_ratio"), 0)
            self.assertEqual(server.get("/ready")[0], 200)
            self.assertIn(" 499 ", server.log_text())


class Drain(unittest.TestCase):
    def start_stream(self, server, max_tokens):
        stream = iter(client_of(server).chat.completions.create(
            model=server.model, messages=question(0), max_tokens=max_tokens, stream=True, **GREEDY))
        next(stream)
        return stream

    def test_what_runs_finishes_and_what_comes_is_503(self):
        server = serve("--context", 16384, "--slots", 1, "--drain-seconds", 600)  # as slow as this machine may be
        stream = self.start_stream(server, 15500)
        server.process.terminate()
        status = 200
        while status == 200 and server.process.poll() is None:
            status, body = server.get("/v1/models")
        self.assertEqual((status, body["error"]["code"]), (503, "service_unavailable"))
        self.assertEqual(server.get("/ready")[0], 503)
        self.assertEqual([c.choices[0].finish_reason for c in stream][-1], "length")
        rest, _ = server.process.communicate(timeout=60)
        self.assertEqual((server.process.returncode, rest), (0, ""), server.log_text())

    def test_after_the_deadline_streams_get_their_terminal_event(self):
        server = serve("--context", 16384, "--slots", 1, "--drain-seconds", 0)
        stream = self.start_stream(server, 16000)
        server.process.terminate()
        with self.assertRaises(openai.APIError) as ended:
            for _ in stream:
                pass
        self.assertIn("shutting down", ended.exception.message)
        server.process.communicate(timeout=60)
        self.assertEqual(server.process.returncode, 0, server.log_text())


class Doors(unittest.TestCase):
    def test_one_line_announces_readiness(self):
        with serve("--context", 512, "--slots", 2, "--served-name", "a", "--served-name", "b") as server:
            ready = server.ready
            self.assertEqual((ready["event"], ready["model"]), ("ready", "a"))
            self.assertRegex(ready["address"], r"^http://127\.0\.0\.1:\d+$")
            self.assertEqual(ready["placement"], [{"device": "cpu:0", "layers": 4}])
            self.assertEqual((ready["quote"]["slots"], ready["quote"]["context_tokens"]), (2, 512))
            self.assertGreater(ready["quote"]["total_bytes"], ready["quote"]["weights_bytes"])
            self.assertTrue(ready["version"])
            self.assertEqual([m.id for m in client_of(server).models.list()], ["a", "b"])
            code, rest = server.stop()
            self.assertEqual((code, rest), (0, ""))

    def test_keys_come_from_a_file_and_the_environment(self):
        with tempfile.NamedTemporaryFile("w") as keys:
            keys.write("# ours\nkey-one\nkey-two\n")
            keys.flush()
            with serve("--api-key-file", keys.name, env={"TONNAGE_API_KEY": "key-three"}) as server:
                for key in ("key-one", "key-two", "key-three"):
                    self.assertTrue(list(client_of(server, api_key=key).models.list()))
                with self.assertRaises(openai.AuthenticationError):
                    client_of(server, api_key="key-four").models.list()
                self.assertEqual(server.get("/plan", headers={"x-api-key": "key-two"})[0], 200)
                self.assertEqual(server.get("/plan")[0], 401)
                for probe in ("/health", "/ready", "/metrics"):
                    self.assertEqual(server.get(probe)[0], 200)

    def test_pages_of_other_origins_need_leave(self):
        with serve("--cors-origin", "https://good.example") as server:
            self.assertEqual(server.get("/v1/models", headers={"Origin": "https://good.example"})[0], 200)
            self.assertEqual(server.get("/v1/models", headers={"Origin": "https://bad.example"})[0], 403)

    def test_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/tonnage.sock"
            with serve("--unix-socket", path) as server:
                self.assertEqual(server.url, "unix:" + path)
                with socket.socket(socket.AF_UNIX) as sock:
                    sock.connect(path)
                    sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    self.assertEqual(read_answer(sock), (200, b'{"status":"ok"}'))

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = folder + "/cert.pem", folder + "/key.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                            "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
            with serve("--tls-cert", cert, "--tls-key", key) as server:
                self.assertTrue(server.url.startswith("https://127.0.0.1:"))
                host = http.client.HTTPSConnection(server.url[8:], context=ssl.create_default_context(cafile=cert), timeout=60)
                host.request("GET", "/v1/models")
                self.assertEqual(host.getresponse().status, 200)
                host.close()

    def test_what_cannot_be_served_is_said(self):
        def run(*options):
            return subprocess.run([PROGRAM, "serve", CHAT, "--port", "0", *options], capture_output=True, text=True, timeout=60)
        for code, options in ((2, ("--host", "no-address")), (4, ("--api-key-file", "/none")), (2, ("--tls-cert", "/none")),
                              (3, ("--memory-limit", "1M")), (3, ("--buffer-limit", "2")), (2, ("--slots", "0")), (2, ("--max-body-bytes", "-1"))):
            with self.subTest(options):
                result = run(*options)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(result.stdout, "")


class OwnRoutes(unittest.TestCase):
    def test_plans_are_those_of_the_command(self):
        with serve("--context", 512, "--slots", 2) as server:
            command = json.loads(subprocess.run([PROGRAM, "plan", CHAT, "--json", "--context", "1024", "--slots", "2"],
                                                capture_output=True, text=True, timeout=60).stdout)["plans"][0]
            for path, body in (("/plan", {"context_tokens": 1024}), ("/plan?context_tokens=1024", None)):
                status, plan = server.get(path, body)
                self.assertEqual(status, 200)
                row = plan["plans"][0]
                self.assertEqual(set(row), set(command))
                for term in ("weights_bytes", "kv_bytes", "arena_bytes", "workspace_bytes", "context_tokens", "slots", "kv_dtype"):
                    self.assertEqual(row[term], command[term], term)
            self.assertFalse(server.get("/plan", {"slots": 4096, "kv_dtype": "f32", "context_tokens": 16384})[1]["plans"][0]["fits"])
            self.assertEqual(server.get("/plan", {"kv_dtype": "f7"})[0], 400)

    def test_tokens_and_templates(self):
        with serve() as server:
            _, tokens = server.get("/tokenize", {"content": "h\u00e9llo"})
            self.assertEqual(server.get("/detokenize", {"tokens": tokens["tokens"]})[1]["content"], "h\u00e9llo")
            _, prompt = server.get("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})
            self.assertEqual(prompt["prompt"], "<s>user: Hi\nassistant:")
            self.assertEqual(server.get("/tokenize", {"model": "other", "content": "x"})[0], 404)
            self.assertEqual(server.get("/nothing")[0], 404)
            self.assertEqual(server.get("/health", {"a": 1})[0], 405)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
