#!/usr/bin/env python3
"""`tonnage pull` and `tonnage plan` against a hub of our own that misbehaves in every way a network knows:
hub_test.py TONNAGE SOURCE_DIR"""
import importlib.util
import json
import math
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest

import fake_hub
from hub_case import BLOCK, FOLDER, GGUF, HEADER, LLAMA, LONG, PROGRAM, HubTest, tensors, terms


class Pulling(HubTest):
    def test_a_folder_arrives_whole_and_runs(self):
        run = self.pulls("org/folder")
        wanted = {path: content for path, content in FOLDER.items() if path not in ("README.md", "pytorch_model.bin")}
        self.assertEqual(self.stored("org/folder"), wanted)
        self.assertFalse((self.store / "downloads" / "org").exists())
        self.assertIn("fits", run.stdout)
        (row,) = json.loads(self.tonnage("list", "--json").stdout)
        self.assertEqual((row["format"], row["stored_as"], row["bytes"]), ("safetensors", "BF16", sum(map(len, wanted.values()))))
        self.assertEqual(row["parameters"], sum(math.prod(t["shape"]) for t in tensors(LLAMA / "model.safetensors").values()))
        answer = self.tonnage("run", "org/folder", "hello", "--raw", "--max-tokens", 3, "--temperature", 0)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("already here", self.pulls("org/folder").stderr)
        self.assertEqual(self.tonnage("rm", "org/folder").returncode, 0)
        self.assertEqual(self.names(), [])

    def test_the_same_table_before_and_after(self):
        for name in ("org/folder", "org/long"):
            planned = terms(self.tonnage("plan", name).stdout)
            self.assertIn("weights", planned[0])
            self.assertEqual(terms(self.pulls(name).stdout), planned)
            self.assertEqual(terms(self.tonnage("plan", name).stdout), planned)

    def test_a_long_file_comes_in_ranges_over_several_connections(self):
        self.hub.delay = (1 << 20, 0.01)
        self.pulls("org/long")
        self.assertEqual(self.stored("org/long"), {"long.gguf": LONG})
        ranges = {(r.first, r.last) for r in self.hub.asked("cdn", "long.gguf")}
        for i in range(6):
            self.assertIn((i * BLOCK, min((i + 1) * BLOCK, len(LONG)) - 1), ranges)

    def test_revisions(self):
        self.pulls("org/folder@v1")
        self.assertTrue(any("/revision/v1" in r.path for r in self.hub.asked("hub")))
        self.assertTrue(all(fake_hub.COMMIT in r.path for r in self.hub.asked("hub", ".safetensors")))
        self.assertEqual(self.tonnage("pull", "org/folder@nope").returncode, 4)

    def test_bad_names_are_wrong_usage(self):
        for name in ("org/", "a/b/c", "org/na me", "../x", "org/name:../../x", "org/name:"):
            self.assertEqual(self.tonnage("pull", name).returncode, 2, name)
        self.assertEqual(self.hub.asked(), [])


class Choosing(HubTest):
    def setUp(self):
        super().setUp()
        self.hub.repositories["org/many"] = {
            "many-Q4_K_M.gguf": GGUF, "many-Q8_0.gguf": GGUF + b"8", "many-UD-Q4_K_XL.gguf": GGUF + b"xl",
            "BF16/many-BF16-00001-of-00002.gguf": GGUF + b"1", "BF16/many-BF16-00002-of-00002.gguf": GGUF + b"2",
            "mmproj-F16.gguf": b"a projector"}

    def test_several_are_listed_with_their_sizes(self):
        run = self.fails("org/many", 2, "holds 4 GGUF files", "org/many:Q4_K_M", "org/many:Q8_0", "org/many:BF16", "KiB")
        self.assertNotIn("mmproj", run.stderr)
        self.fails("org/many:Q5_0", 2, "no GGUF file `Q5_0`", "org/many:Q8_0")

    def test_by_tag_by_name_and_with_its_folder(self):
        for pick, content in (("Q8_0", GGUF + b"8"), ("q4_k_m", GGUF), ("UD-Q4_K_XL", GGUF + b"xl"), ("many-Q8_0.gguf", GGUF + b"8")):
            self.pulls(f"org/many:{pick}")
            self.assertEqual(list(self.stored(f"org/many:{pick}").values()), [content])
            self.assertEqual(self.tonnage("plan", f"org/many:{pick}").returncode, 0)

    def test_all_parts_of_a_split_file_are_taken(self):
        run = self.tonnage("pull", "org/many:BF16", "--anyway")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(self.stored("org/many:BF16")), ["many-BF16-00001-of-00002.gguf", "many-BF16-00002-of-00002.gguf"])
        del self.hub.repositories["org/many"]["BF16/many-BF16-00002-of-00002.gguf"]
        self.assertEqual(self.tonnage("rm", "org/many:BF16").returncode, 0)
        self.fails("org/many:BF16", 4, "1 of the 2 parts")

    def test_neither_gguf_nor_safetensors(self):
        self.hub.repositories["org/old"] = {"config.json": b"{}", "pytorch_model.bin": b"x"}
        self.fails("org/old", 4, "neither GGUF files nor a safetensors checkpoint")


class Quoting(HubTest):
    def test_plan_downloads_headers_alone(self):
        run = self.tonnage("plan", "org/long", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLess(self.weights_asked("long.gguf"), len(LONG) // 10)
        run = self.tonnage("plan", "org/folder")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.names(), [])
        self.assertEqual(list(self.store.rglob("*.*")), [], "nothing is left behind")

    def test_a_refused_model_is_not_downloaded(self):
        run = self.tonnage("pull", "org/long", "--memory-limit", "1M")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("--anyway", run.stderr)
        self.assertIn("refused", run.stdout)
        self.assertLess(self.weights_asked("long.gguf"), len(LONG) // 10)
        self.assertEqual(self.names(), [])
        run = self.tonnage("pull", "org/long", "--memory-limit", "1M", "--anyway")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.names(), ["org/long"])

    def test_what_we_cannot_run_is_not_downloaded(self):
        files = dict(FOLDER)
        files["config.json"] = files["config.json"].replace(b'"llama"', b'"rnn"')
        self.hub.repositories["org/strange"] = files
        self.fails("org/strange", 4, "rnn", "--anyway")

    def test_headers_that_lie_are_errors(self):
        for name, content in (("huge.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60) + bytes(5 << 20)),
                              ("not.gguf", bytes(5 << 20)), ("short.gguf", b"GG"), ("empty.gguf", b"")):
            self.hub.repositories["org/bad"] = {name: content}
            self.fails("org/bad", 4, "org/bad")
        bad = dict(FOLDER)
        bad["model-00002-of-00003.safetensors"] = struct.pack("<Q", 1 << 62) + b"{}"
        self.hub.repositories["org/bad"] = bad
        self.fails("org/bad", 4)


class Faults(HubTest):
    def test_cut_connections(self):
        self.hub.cut_after = 3 << 20
        self.pulls("org/long")
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)

    def test_a_server_that_trickles_is_given_up(self):
        self.hub.cut_after = 1000
        self.hub.delay = None
        started = time.monotonic()
        self.fails("org/long", 5)
        self.assertLess(time.monotonic() - started, 60)

    def test_a_wrong_digest_is_fetched_once_more(self):
        self.hub.corrupt = {"long.gguf": 1}
        self.pulls("org/long")
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)

    def test_a_digest_that_stays_wrong_is_an_error_and_leaves_nothing(self):
        for path in ("model-00002-of-00003.safetensors", "tokenizer.json"):
            self.tonnage("rm", "org/folder")
            self.hub.corrupt = {path: 1000}
            self.fails("org/folder", 4, path, "digest")
            content = FOLDER[path]
            self.assertFalse((self.store / "downloads/org/folder" / fake_hub.digest(path, content)).exists())
            self.hub.corrupt = {}
        self.pulls("org/folder")

    def test_too_many_requests_and_errors_of_the_moment(self):
        for status, headers in ((429, {"Retry-After": "1"}), (503, {}), (500, {})):
            self.hub.faults = [fake_hub.few_times(1, lambda r: r.server == "hub" and "/api/" in r.path, status, headers),
                               fake_hub.few_times(2, lambda r: r.server == "cdn", status, headers)]
            started = time.monotonic()
            self.pulls("org/folder")
            self.assertGreater(time.monotonic() - started, 2 if status == 429 else 0.5)
            self.tonnage("rm", "org/folder")

    def test_a_hub_that_wants_too_much_patience(self):
        self.hub.faults = [fake_hub.few_times(1000, lambda r: True, 429, {"Retry-After": "7200"})]
        started = time.monotonic()
        self.fails("org/folder", 5, "429", "7200 s")
        self.assertLess(time.monotonic() - started, 5)

    def test_a_hub_that_is_down_is_given_up(self):
        self.hub.faults = [fake_hub.few_times(1000, lambda r: True, 502)]
        self.fails("org/folder", 5, "502")
        self.assertEqual(len(self.hub.asked()), 6)

    def test_nobody_there(self):
        self.fails("org/folder", 5, "127.0.0.1:1", HF_ENDPOINT="http://127.0.0.1:1")
        self.fails("org/folder", 2, "HF_ENDPOINT", HF_ENDPOINT="ftp://example.invalid")

    def test_a_stalled_connection_is_tried_again(self):
        stalled = threading.Event()

        def stall(request, handler):
            if request.server != "cdn" or stalled.is_set():
                return False
            stalled.set()
            fake_hub.send_head(handler, 206, 1000, {"Content-Range": "bytes 0-999/1000"})
            time.sleep(5)
            handler.close_connection = True
            return True
        self.hub.faults = [stall]
        self.pulls("org/folder")

    def test_slow_is_no_fault(self):
        self.hub.delay = (20_000, 0.5)  # longer than the time-out, but moving
        self.pulls("org/folder")

    def test_a_server_without_ranges(self):
        self.hub.ignore_ranges = True
        self.pulls("org/long")
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)
        self.assertLessEqual(len(self.hub.asked("cdn", "long.gguf")), 4)

    def test_wrong_sizes(self):
        for path, size in (("model-00001-of-00003.safetensors", 100), ("model-00001-of-00003.safetensors", 10**9),
                           ("tokenizer.json", 10), ("tokenizer.json", 10**6)):
            self.hub.listed_size = {path: size}
            self.fails("org/folder", 4, path, f"lists {size} bytes")

    def test_redirects_without_end(self):
        def loop(request, handler):
            if request.server != "cdn":
                return False
            fake_hub.send(handler, 302, headers={"Location": "/again"})
            return True
        self.hub.faults = [loop]
        self.fails("org/folder", 4, "redirects more than")

    def test_redirects_to_files_are_not_followed(self):
        def steal(request, handler):
            if not request.path.endswith(".safetensors"):
                return False
            fake_hub.send(handler, 302, headers={"Location": "file:///etc/passwd"})
            return True
        self.hub.faults = [steal]
        self.fails("org/folder", 4, "no http or https URL")

    def test_no_such_model(self):
        self.fails("org/none", 4, "no such model")

    def test_answers_that_make_no_sense(self):
        row = {"rfilename": "a.gguf", "size": 1, "lfs": {"sha256": "0" * 64}}
        for body in (b"", b"<html>", b"[]", b"{}", b'{"sha": 7}', b"[" * 100_000, b'{"sha":"' + b"0" * 40 + b'","siblings":{}}',
                     *(json.dumps({"sha": "0" * 40, "siblings": siblings}).encode() for siblings in
                       ([7], [{}], [row | {"size": -1}], [row | {"size": 2**62}], [row | {"lfs": {"sha256": "../../x"}}], [row, row]))):
            def nonsense(request, handler, body=body):
                fake_hub.send(handler, 200, body)
                return True
            self.hub.faults = [nonsense]
            self.fails("org/folder", 4, "the hub's answer")

    def test_hostile_names_are_never_written(self):
        for path in ("../../evil.gguf", "/tmp/evil.gguf", "a/../../evil.gguf", "evil\n.gguf", "evil\x1b[2J.gguf", ".hidden.gguf",
                     "a\\evil.gguf", "-evil.gguf", "a b.gguf", "a//b.gguf", "x" * 300 + ".gguf"):
            self.hub.repositories["org/evil"] = {path: GGUF}
            self.fails("org/evil", 4, "not one that we would write")
        self.assertEqual([p for p in self.home.rglob("*evil*.gguf")], [])
        self.hub.repositories["org/evil"] = FOLDER | {"model/../../../x.safetensors": b"x", "../tokenizer.json": b"x"}
        self.pulls("org/evil")


class Tokens(HubTest):
    def test_the_token_goes_to_the_hub_alone(self):
        self.hub.token = "hf_secret"
        run = self.fails("org/folder", 4, "HF_TOKEN", "Invalid username or password.")
        self.assertNotIn("hf_wrong", self.fails("org/folder", 4, "this HF_TOKEN", HF_TOKEN="hf_wrong").stderr)
        run = self.pulls("org/folder", HF_TOKEN="hf_secret")
        self.assertNotIn("hf_secret", run.stdout + run.stderr)
        self.assertTrue(self.hub.asked("cdn"))
        for request in self.hub.asked("cdn"):
            self.assertIsNone(request.token)

    def test_a_gated_model_says_so_and_not_that_it_would_not_fit(self):
        self.hub.faults = [fake_hub.few_times(1000, lambda r: "/resolve/" in r.path, 403, {"X-Error-Message": "Ask its owner."})]
        run = self.fails("org/folder", 4, "how to get access", "Ask its owner.")
        self.assertNotIn("--anyway", run.stderr)

    def test_the_token_of_a_log_in(self):
        self.hub.token = "hf_stored"
        (self.home / "hf").mkdir()
        (self.home / "hf" / "token").write_text("hf_stored\n")
        self.pulls("org/folder")


class Interrupted(HubTest):
    def blocks_done(self):
        return [int(line) for p in (self.store / "downloads/org/long").glob("*.blocks") for line in p.read_text().splitlines()[1:]]

    def wait_for_blocks(self, count):
        deadline = time.monotonic() + 30
        while len(self.blocks_done()) < count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_killed_and_resumed(self):
        for kill in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            self.hub.delay = (1 << 19, 0.03)
            process = self.start("pull", "org/long")
            self.wait_for_blocks(1)
            process.send_signal(kill)
            _, error = process.communicate()
            if kill == signal.SIGINT:
                self.assertEqual(process.returncode, 130)
                self.assertIn("goes on from here", error)
            self.assertEqual(self.names(), [])
            self.assertEqual(self.tonnage("plan", "org/long", HF_ENDPOINT="http://127.0.0.1:1").returncode, 5)
            done = sum(min((block + 1) * BLOCK, len(LONG)) - block * BLOCK for block in self.blocks_done())
            self.assertGreater(done, 0)
            self.hub.delay = None
            self.hub.requests.clear()
            self.pulls("org/long")
            self.assertEqual(self.stored("org/long")["long.gguf"], LONG)
            self.assertEqual(self.weights_asked("long.gguf"), len(LONG) - done + HEADER)
            self.tonnage("rm", "org/long")

    def test_a_partial_block_and_a_lying_journal_are_not_trusted(self):
        self.hub.delay = (1 << 19, 0.03)
        process = self.start("pull", "org/long")
        self.wait_for_blocks(1)
        process.kill()
        process.communicate()
        self.hub.delay = None
        (part,) = (self.store / "downloads/org/long").glob("*.part")
        with open(part, "r+b") as file:  # all that came is damaged
            file.write(bytes(len(LONG)))
        self.pulls("org/long")
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)

    def test_killed_at_random_moments(self):
        self.hub.delay = (1 << 20, 0.004)
        for attempt in range(12):
            process = self.start("pull", "org/long")
            time.sleep(random.Random(attempt).uniform(0.01, 0.25))
            process.kill()
            process.communicate()
            for name in self.names():  # what is there is whole
                self.assertEqual(self.stored(name)["long.gguf"], LONG)
        self.hub.delay = None
        self.pulls("org/long")
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)

    def test_two_at_a_time(self):
        self.hub.delay = (1 << 19, 0.05)
        process = self.start("pull", "org/long")
        self.wait_for_blocks(1)
        run = self.tonnage("pull", "org/long")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("another process is pulling org/long", run.stderr)
        self.hub.delay = None
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)

    def test_rm_clears_what_an_interrupted_pull_left(self):
        self.hub.delay = (1 << 19, 0.03)
        process = self.start("pull", "org/long")
        self.wait_for_blocks(1)
        process.kill()
        process.communicate()
        self.assertEqual(self.tonnage("rm", "org/long").returncode, 0)
        self.assertFalse((self.store / "downloads" / "org").exists())

    def test_a_new_commit_keeps_what_did_not_change(self):
        self.hub.corrupt = {"tokenizer.json": 1000}
        self.fails("org/folder", 4)
        self.hub.corrupt = {}
        self.hub.commit = "f" * 40
        self.hub.repositories["org/folder"]["tokenizer_config.json"] = b"{}"
        self.hub.requests.clear()
        self.pulls("org/folder")
        self.assertEqual(self.stored("org/folder")["tokenizer_config.json"], b"{}")
        self.assertEqual([r for r in self.hub.asked("hub", "added.jinja") if r.method == "GET"], [])


class Disk(HubTest):
    def test_room_is_checked_first(self):
        self.hub.repositories["org/vast"] = {"vast.gguf": GGUF}
        self.hub.listed_size = {"vast.gguf": 1 << 43}

        def vast(request, handler):  # a header that is true for its size
            if request.server != "cdn":
                return False
            last = min(request.last, len(GGUF) - 1)
            body = GGUF[request.first:last + 1].ljust(request.last + 1 - request.first, b"\0")
            fake_hub.send(handler, 206, body, {"Content-Range": f"bytes {request.first}-{request.last}/{1 << 43}"})
            return True
        self.hub.faults = [vast]
        self.fails("org/vast", 3, "of disk needed", "free")


class HuggingFaceCache(HubTest):
    """The cache as Hugging Face's client lays it out."""

    def cache(self, repository="org/folder", skip=()):
        root = self.home / "hf" / "hub" / ("models--" + repository.replace("/", "--"))
        snapshot = root / "snapshots" / fake_hub.COMMIT
        (root / "blobs").mkdir(parents=True)
        (root / "refs").mkdir()
        (root / "refs" / "main").write_text(fake_hub.COMMIT)
        for path, content in self.hub.repositories[repository].items():
            if path in skip:
                continue
            blob = root / "blobs" / fake_hub.digest(path, content)
            blob.write_bytes(content)
            link = snapshot / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(blob, link.parent))
        return root

    def test_files_that_are_there_are_linked(self):
        root = self.cache("org/long")
        before = fake_hub.folder_files(root)
        self.pulls("org/long")
        self.assertEqual(self.hub.asked("cdn"), [])
        (blob,) = (root / "blobs").glob(fake_hub.digest("long.gguf", LONG))
        self.assertTrue(os.path.samefile(blob, self.store / "models/org/long/long.gguf"))
        shutil.rmtree(root)
        self.assertEqual(self.stored("org/long")["long.gguf"], LONG)
        self.assertEqual(len(before), 5)

    def test_what_is_missing_or_damaged_is_fetched(self):
        root = self.cache(skip=["model-00001-of-00003.safetensors"])
        path = "model-00002-of-00003.safetensors"
        blob = root / "blobs" / fake_hub.digest(path, FOLDER[path])
        blob.write_bytes(FOLDER[path][:-1] + b"!")
        self.pulls("org/folder")
        self.assertEqual(self.stored("org/folder")[path], FOLDER[path])
        self.assertEqual({r.path.rpartition("/")[2] for r in self.hub.asked("cdn")}, {path, "model-00001-of-00003.safetensors"})

    def test_without_a_network(self):
        self.cache()
        for env in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:1"}):
            self.assertEqual(self.tonnage("plan", "org/folder", **env).returncode, 0)
            self.pulls("org/folder", **env)
            self.tonnage("rm", "org/folder")
        self.fails("org/long", 4, "not in the cache", HF_HUB_OFFLINE="1")
        self.assertEqual(self.hub.asked(), [])

    def test_without_a_network_a_missing_shard_is_named(self):
        self.cache(skip=["model-00001-of-00003.safetensors"])
        self.fails("org/folder", 4, "model-00001-of-00003.safetensors", HF_HUB_OFFLINE="1")


@unittest.skipUnless(importlib.util.find_spec("huggingface_hub"), "huggingface_hub is not installed")
class OfficialClient(HubTest):
    """That our hub is a true one, and that our cache is theirs."""

    def download(self, repository):
        code = f"import huggingface_hub as h; print(h.snapshot_download({repository!r}))"
        run = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=120,
                             env=self.env(HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_UPDATE_CHECK="1"))
        self.assertEqual(run.returncode, 0, run.stderr)
        return pathlib.Path(run.stdout.strip())

    def test_it_downloads_from_our_hub_and_we_take_it_from_its_cache(self):
        self.assertEqual(fake_hub.folder_files(self.download("org/folder")), FOLDER)
        self.hub.requests.clear()
        self.pulls("org/folder")
        self.assertEqual([r.path for r in self.hub.asked()], ["/api/models/org/folder/revision/main"])
        self.tonnage("rm", "org/folder")
        self.pulls("org/folder", HF_HUB_OFFLINE="1")


class Terminal(HubTest):
    def test_the_bar_shows_bytes_rate_and_time_left(self):
        import pty
        self.hub.delay = (1 << 19, 0.03)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(PROGRAM, [str(PROGRAM), "pull", "org/long"], self.env(TERM="xterm"))
        output = b""
        while True:
            try:
                output += os.read(terminal, 4096)
            except OSError:
                break
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertRegex(output.decode(), r"pulling \[=+ *\] +\d+%  [\d.]+ MiB of 4[\d.]+ MiB  [\d.]+ .iB/s  \d+ s left")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
