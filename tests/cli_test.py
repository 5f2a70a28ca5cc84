#!/usr/bin/env python3
"""The program as a user and a script see it: exit codes, what goes to standard output, files: cli_test.py TONNAGE SOURCE_DIR

Uses the small golden models of the repository and, where the model store has it, the default model."""
import json
import os
import pathlib
import pty
import select
import signal
import struct
import sys
import tempfile
import time
import unittest

from program import CHAT, LLAMA, PROGRAM, read_safetensors, tonnage


class Usage(unittest.TestCase):
    def test_help_lists_every_command_and_exit_code(self):
        run = tonnage("--help")
        self.assertEqual(run.returncode, 0)
        for word in ("run", "serve", "plan", "pull", "list", "rm", "inspect", "bench", "eval", "tokenize", "detokenize", "render", "logits",
                     "Exit codes", "TONNAGE_HOME"):
            self.assertIn(word, run.stdout)

    def test_wrong_usage_is_2(self):
        for args in ((), ("no-such-command",), ("run",), ("plan", LLAMA, "--slots", "0"), ("plan", LLAMA, "--kv", "q3"),
                     ("plan", LLAMA, "--precision", "perfect"), ("plan", LLAMA, "--cpu", "z80"),
                     ("plan", LLAMA, "--memory-limit", "lots"), ("pull", "no-such-model")):
            run = tonnage(*args)
            self.assertEqual(run.returncode, 2, f"{args}: {run.stderr}")
            self.assertEqual(run.stdout, "")

    def test_what_cannot_be_read_is_4(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.gguf"
            broken.write_bytes(b"GGUF\x03\x00\x00\x00 but no more")
            for model in ("no-such-name", folder + "/none.gguf", folder, broken):
                for command in ("plan", "run", "inspect"):
                    run = tonnage(command, model, stdin="x", env={"TONNAGE_HOME": folder})
                    self.assertEqual(run.returncode, 4, f"{command} {model}: {run.stderr}")
                    self.assertIn("tonnage: ", run.stderr)

    def test_junk_in_the_variable_names_it(self):
        run = tonnage("plan", LLAMA, env={"TONNAGE_MEMORY_LIMIT": "12 apples"})
        self.assertEqual(run.returncode, 2)
        self.assertIn("TONNAGE_MEMORY_LIMIT", run.stderr)
        for junk in ("ten", "0", "-4", "1e3", " 7", "99999999999999999999"):
            run = tonnage("plan", LLAMA, env={"TONNAGE_BUFFER_LIMIT": junk})
            self.assertEqual(run.returncode, 2)
            self.assertIn(f"TONNAGE_BUFFER_LIMIT: `{junk}`", run.stderr)
            run = tonnage("plan", LLAMA, f"--buffer-limit={junk}")
            self.assertEqual(run.returncode, 2)
            self.assertIn("--buffer-limit: `", run.stderr)


class Plan(unittest.TestCase):
    def test_a_limit_only_lowers_and_how_the_budget_came_about_is_told(self):
        run = tonnage("run", CHAT, "hello", "--max-tokens", 1, env={"TONNAGE_MEMORY_LIMIT": "1024T"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"\[memory: .* quoted, .* by (the|RLIMIT).*TONNAGE_MEMORY_LIMIT: 1024.0 TiB")
        for where in ({"args": ("--memory-limit", "1K"), "env": {}}, {"args": (), "env": {"TONNAGE_MEMORY_LIMIT": "1K"}}):
            name = "--memory-limit" if where["args"] else "TONNAGE_MEMORY_LIMIT"
            run = tonnage("run", CHAT, "hello", *where["args"], env=where["env"])
            self.assertEqual(run.returncode, 3)
            self.assertRegex(run.stderr, rf"tonnage: .* needed, 1.0 KiB allowed by {name}; the runtime term alone is .*")
            self.assertEqual(run.stdout, "")

    def test_buffers_are_limited_as_bytes_are(self):
        plan = json.loads(tonnage("plan", LLAMA, "--json").stdout)
        needed = plan["plans"][0]["buffers"]
        self.assertGreater(needed, 5)
        for where in ({"args": ("--buffer-limit", needed - 1), "env": {}},
                      {"args": (), "env": {"TONNAGE_BUFFER_LIMIT": str(needed - 1)}},
                      {"args": ("--buffer-limit", needed + 9), "env": {"TONNAGE_BUFFER_LIMIT": str(needed - 1)}}):
            name = "TONNAGE_BUFFER_LIMIT" if where["env"] else "--buffer-limit"
            run = tonnage("run", CHAT, "hello", *where["args"], env=where["env"])
            self.assertEqual(run.returncode, 3)
            self.assertIn(f"{needed} buffers needed, {needed - 1} allowed by {name}", run.stderr)
            self.assertEqual(run.stdout, "")
        run = tonnage("plan", LLAMA, "--json", "--buffer-limit", 3)
        self.assertEqual(run.returncode, 3)
        row = json.loads(run.stdout)["plans"][0]
        self.assertEqual((row["fits"], row["tightest"], row["nearest"]), (False, "buffers", []))
        self.assertIn(f"refused: {needed} buffers", tonnage("plan", LLAMA, "--buffer-limit", 3).stdout)
        # It can only lower.
        run = tonnage("plan", LLAMA, "--json", env={"TONNAGE_BUFFER_LIMIT": "9000000000000"})
        self.assertEqual(json.loads(run.stdout)["budget_buffers"] // 1000, plan["budget_buffers"] // 1000)
        run = tonnage("run", CHAT, "hello", "--max-tokens", 1, "--buffer-limit", needed)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_refused_row_says_what_would_fit(self):
        plan = json.loads(tonnage("plan", LLAMA, "--json", "--slots", 64).stdout)["plans"][0]
        limit = plan["total_bytes"] - plan["kv_bytes"] // 2
        run = tonnage("plan", LLAMA, "--json", "--slots", 64, "--memory-limit", limit)
        self.assertEqual(run.returncode, 3)
        row = json.loads(run.stdout)["plans"][0]
        self.assertEqual((row["fits"], row["tightest"]), (False, "kv"))
        self.assertEqual([s["context_tokens"] for s in row["nearest"]][0], plan["context_tokens"])
        for settings in row["nearest"]:
            run = tonnage("plan", LLAMA, "--memory-limit", limit + 512 * 1024, "--context", settings["context_tokens"],
                          "--slots", settings["slots"], "--kv", settings["kv_dtype"])
            self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("refused: kv; fits: --slots ", tonnage("plan", LLAMA, "--slots", 64, "--memory-limit", limit).stdout)

    def test_a_quote_that_does_not_fit_is_3_with_the_numbers(self):
        run = tonnage("plan", LLAMA, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        total = json.loads(run.stdout)["plans"][0]["total_bytes"]
        # What the process itself holds differs by a few pages from run to run.
        for limit, code in ((total + 512 * 1024, 0), (total - 512 * 1024, 3)):
            run = tonnage("plan", LLAMA, "--json", "--memory-limit", limit)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertEqual(json.loads(run.stdout)["budget_source"], "--memory-limit")
        run = tonnage("run", CHAT, "hello", "--memory-limit", total // 2)
        self.assertEqual(run.returncode, 3)
        self.assertEqual(run.stdout, "")
        self.assertIn("--memory-limit", run.stderr)

    def test_terms_add_up(self):
        plan = json.loads(tonnage("plan", LLAMA, "--json", "--context", 100, "--slots", 3).stdout)["plans"][0]
        terms = [value for key, value in plan.items() if key.endswith("_bytes") and key != "total_bytes"]
        self.assertGreaterEqual(sum(terms), plan["total_bytes"])
        self.assertGreater(plan["weights_bytes"], 0)
        self.assertGreater(plan["kv_bytes"], 0)


class SimulatedDevices(unittest.TestCase):
    PROFILES = ("m1", "m5-pro", "cuda-24g", "cuda-96g", "h200")

    def test_an_unknown_one_is_2_with_the_list(self):
        for command in (("plan", LLAMA), ("run", CHAT, "hello"), ("bench", LLAMA), ("serve", CHAT)):
            run = tonnage(*command, "--device", "sim:m17")
            self.assertEqual(run.returncode, 2, run.stderr)
            for name in ("`m17`", *self.PROFILES):
                self.assertIn(name, run.stderr)
        for device in ("gpu", "sim", "cuda:0"):
            run = tonnage("plan", LLAMA, "--device", device)
            self.assertEqual(run.returncode, 2)
            self.assertIn(f"--device {device}", run.stderr)
        self.assertEqual(tonnage("plan", LLAMA, "--device", "sim:m1", "--threads", 2).returncode, 2)

    def test_plan_says_whether_it_fits_and_whether_the_watchdog_would_kill_it(self):
        for profile in self.PROFILES:
            run = tonnage("plan", LLAMA, "--device", f"sim:{profile}")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(f"(sim:{profile})", run.stdout)
            self.assertIn("fits", run.stdout)
            watched = profile in ("m1", "m5-pro", "cuda-24g")
            self.assertIn("never kills it" if watched else "no watchdog", run.stdout)
            plan = json.loads(tonnage("plan", LLAMA, "--device", f"sim:{profile}", "--json").stdout)
            self.assertEqual(plan["forecast"]["killed"], False)
            self.assertEqual(plan["forecast"]["watchdog_ms"] is not None, watched)
            self.assertGreater(plan["forecast"]["tokens_per_second"], 0)
        self.assertEqual(json.loads(tonnage("plan", LLAMA, "--device", "sim:m1", "--json").stdout)["budget_bytes"], 7_500_000_000)

    def test_a_limit_lowers_the_devices_memory_too(self):
        run = tonnage("run", CHAT, "hello", "--device", "sim:h200", "--memory-limit", "1M")
        self.assertEqual(run.returncode, 3)
        self.assertIn("1.0 MiB allowed by --memory-limit", run.stderr)

    def test_it_answers_as_the_processor_does_with_the_same_kernels(self):
        ask = ("run", CHAT, "hello", "--max-tokens", 12, "--temperature", 0)
        expected = tonnage(*ask, "--cpu", "portable")
        self.assertEqual(expected.returncode, 0, expected.stderr)
        for profile in ("m1", "h200"):
            run = tonnage(*ask, "--device", f"sim:{profile}")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout, expected.stdout)

    def test_bench_runs_on_it(self):
        run = tonnage("bench", LLAMA, "--device", "sim:m1", "--json", "--prompt", 8, "--generate", 4, "--repeat", 1)
        self.assertEqual(run.returncode, 0, run.stderr)
        figures = json.loads(run.stdout)
        self.assertEqual(len(figures["ids"]), 4)
        self.assertNotIn("read_bytes_per_s", figures)  # this processor's bounds are not the device's

    def test_limits_of_submissions_are_strictly_read_and_kept(self):
        for name in ("BYTES", "LAUNCHES", "MS"):
            for junk in ("many", "-5", "1.5x", "0"):
                run = tonnage("plan", LLAMA, "--device", "sim:m1", env={f"TONNAGE_SUBMISSION_{name}": junk})
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(f"TONNAGE_SUBMISSION_{name}", run.stderr)
        plan = json.loads(tonnage("plan", LLAMA, "--device", "sim:m1", "--json", env={"TONNAGE_SUBMISSION_LAUNCHES": "3"}).stdout)
        whole = json.loads(tonnage("plan", LLAMA, "--device", "sim:m1", "--json").stdout)
        self.assertGreater(plan["forecast"]["submissions"], whole["forecast"]["submissions"])
        for command in (("plan", LLAMA), ("run", CHAT, "hello")):
            run = tonnage(*command, "--device", "sim:m1", env={"TONNAGE_SUBMISSION_BYTES": "100"})
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn("submission", run.stderr)


class Inside(unittest.TestCase):
    def test_logits_writes_what_the_interface_says(self):
        golden = read_safetensors(LLAMA / "golden.safetensors")
        ids = list(struct.unpack(f"<{golden['input_ids'][0][0]}i", golden["input_ids"][1]))
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.safetensors"
            run = tonnage("logits", LLAMA, "--out", out, "--greedy", 24, "--precision", "exact", stdin=json.dumps(ids) + "\n")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout, "")
            tensors = read_safetensors(out)
            self.assertEqual(tensors["logits"][0], golden["logits"][0])
            self.assertEqual(tensors["greedy_ids"][1], golden["greedy_ids"][1])
            self.assertEqual((tensors["logits"][2], tensors["greedy_ids"][2]), ("F32", "I32"))

    def test_an_exact_cache_is_only_the_default(self):
        with tempfile.TemporaryDirectory() as folder:
            logits = {}
            for kv in ("", "f32", "q8"):
                out = pathlib.Path(folder) / ("out" + kv)
                run = tonnage("logits", LLAMA, "--out", out, "--precision", "exact", *(["--kv", kv] if kv else []), stdin="[3, 1, 4, 1, 5]\n")
                self.assertEqual(run.returncode, 0, run.stderr)
                logits[kv] = read_safetensors(out)["logits"]
            self.assertEqual(logits[""], logits["f32"])
            self.assertNotEqual(logits["q8"], logits["f32"])

    def test_logits_refuses_bad_ids(self):
        with tempfile.TemporaryDirectory() as folder:
            for line in ("", "[]", "[999999]", "[-1]", "nonsense", "[1.5]", "{}"):
                run = tonnage("logits", LLAMA, "--out", folder + "/out", stdin=line + "\n")
                self.assertIn(run.returncode, (2, 4), f"{line}: {run.stderr}")
                self.assertFalse(os.path.exists(folder + "/out"))

    def test_tokenize_and_detokenize_are_inverse_a_line_each(self):
        texts = ["hello world", "", "two\nlines", "caf\u00e9"]
        run = tonnage("tokenize", CHAT, stdin="".join(json.dumps(text) + "\n" for text in texts))
        self.assertEqual(run.returncode, 0, run.stderr)
        ids = run.stdout.splitlines()
        self.assertEqual(len(ids), len(texts))
        run = tonnage("detokenize", CHAT, stdin="".join(line + "\n" for line in ids))
        self.assertEqual([json.loads(line) for line in run.stdout.splitlines()], texts)

    def test_render_answers_errors_as_values(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder) / "t.jinja"
            template.write_text("{{ messages[0].content }} {{ strftime_now('%Y') }}{% if bad %}{{ raise_exception('no') }}{% endif %}")
            lines = [{"messages": [{"content": "hi"}]}, {"messages": [{"content": "hi"}], "bad": True}]
            run = tonnage("render", template, "--now", "2026-11-29T16:20", stdin="".join(json.dumps(x) + "\n" for x in lines))
            self.assertEqual(run.returncode, 0, run.stderr)
            good, bad = map(json.loads, run.stdout.splitlines())
            self.assertEqual(good, {"rendered": "hi 2026"})
            self.assertIn("no", bad["error"])

    def test_inspect_shows_config_and_tensors(self):
        run = tonnage("inspect", LLAMA, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        shown = json.loads(run.stdout)
        self.assertEqual(shown["config"]["model_type"], "llama")
        self.assertIn("model.embed_tokens.weight", [row["name"] for row in shown["tensors"]])


class Store(unittest.TestCase):
    def test_list_resolve_and_remove(self):
        with tempfile.TemporaryDirectory() as home:
            env = {"TONNAGE_HOME": home}
            self.assertEqual(json.loads(tonnage("list", "--json", env=env).stdout), [])
            folder = pathlib.Path(home) / "models" / "mine"
            folder.mkdir(parents=True)
            for file in LLAMA.iterdir():
                (folder / file.name).write_bytes(file.read_bytes())
            self.assertEqual([row["name"] for row in json.loads(tonnage("list", "--json", env=env).stdout)], ["mine"])
            self.assertEqual(tonnage("plan", "mine", env=env).returncode, 0)
            self.assertEqual(tonnage("rm", "mine", env=env).returncode, 0)
            self.assertEqual(tonnage("plan", "mine", env=env).returncode, 4)
            self.assertEqual(tonnage("rm", "mine", env=env).returncode, 4)
            self.assertEqual(tonnage("rm", "../../etc", env=env).returncode, 2)


class Run(unittest.TestCase):
    def test_standard_output_is_only_the_answer(self):
        args = ("run", CHAT, "hello", "--temperature", 0, "--max-tokens", 5)
        run = tonnage(*args)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("\n"), 1)
        self.assertRegex(run.stderr, r"^\[memory: .* quoted, .*\]\n\[loaded: .* in [\d.]+ s, .*/s\]\n\[5 tokens, [\d.]+ tokens/s, cut at the length limit\]\n$")
        self.assertEqual(tonnage("run", CHAT, "--temperature", 0, "--max-tokens", 5, stdin="hello\n").stdout, run.stdout)
        self.assertEqual(tonnage(*args, "--pin").stdout, run.stdout)

    def test_the_same_seed_gives_the_same_answer(self):
        args = ("run", CHAT, "hello", "--seed", 7, "--max-tokens", 20)
        self.assertEqual(tonnage(*args).stdout, tonnage(*args).stdout)

    def test_ctrl_c_stops_the_answer_and_not_the_chat(self):
        chat = Chat("run", CHAT, "--temperature", 0, "--max-tokens", 40)
        chat.read_until(">>> ")
        for _ in range(3):
            chat.type("hello\r")
            time.sleep(0.02)
            os.kill(chat.pid, signal.SIGINT)  # in the middle of the answer, or after it: both are harmless
            chat.read_until("tokens/s")
            chat.read_until(">>> ")
        chat.type("/bye\r")
        self.assertEqual(chat.exit_code(), 0)


class Chat:
    """The program on a terminal of its own."""

    SECONDS = 60

    def __init__(self, *args):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm", "TONNAGE_HOME": tempfile.mkdtemp()}
            os.execv(PROGRAM, [str(PROGRAM), *map(str, args)])
        self.unread = b""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, text):
        deadline = time.monotonic() + self.SECONDS
        while text.encode() not in self.unread:
            ready, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text!r} in {self.unread!r}")
            self.unread += os.read(self.terminal, 4096)
        self.unread = self.unread.partition(text.encode())[2]

    def exit_code(self):
        deadline = time.monotonic() + self.SECONDS
        while time.monotonic() < deadline:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    os.read(self.terminal, 4096)
                except OSError:  # the program's end closes its side
                    time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError("the chat did not end")


@unittest.skipUnless(tonnage("plan", "smollm2").returncode == 0, "the default model is not in the store: tonnage pull smollm2")
class DefaultModel(unittest.TestCase):
    def test_it_knows_the_capital_of_france(self):
        for precision in ("exact", "fast"):
            run = tonnage("run", "smollm2", "What is the capital of France, and what is it known for?",
                          "--temperature", 0, "--max-tokens", 40,
                          "--precision", precision)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("Paris", run.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
