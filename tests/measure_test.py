#!/usr/bin/env python3
"""The commands that measure, speed and quality: measure_test.py TONNAGE SOURCE_DIR"""
import json
import math
import pathlib
import struct
import sys
import tempfile
import unittest

from program import CHAT, LLAMA, read_safetensors, tonnage


class Bench(unittest.TestCase):
    SMALL = ("bench", LLAMA, "--prompt", 8, "--generate", 4, "--repeat", 1)

    def figures(self, *args):
        run = tonnage(*self.SMALL, "--json", *args)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_every_figure_has_its_bound(self):
        json_ = self.figures("--depth", 40, "--batch", "1,3", "--concurrency", 2, "--threads", 1)
        self.assertEqual(len(json_["ids"]), 4)
        self.assertEqual(json_["threads"], 1)
        self.assertGreater(json_["read_bytes_per_s"], 0)
        rows = json_["figures"]
        self.assertEqual([(row["work"], row["requests"], row["prompt_tokens"]) for row in rows],
                         [("prefill", 1, 8), ("decode", 1, 8), ("prefill", 1, 40), ("decode", 1, 40), ("batch", 1, 8), ("batch", 3, 8),
                          ("concurrency", 2, 8)])
        for row in rows:
            self.assertGreater(row["tokens_per_s"], 0)
            self.assertAlmostEqual(row["reached"], row["tokens_per_s"] / row["bound_tokens_per_s"])
        self.assertEqual((json_["prefill_tokens_per_s"], json_["decode_tokens_per_s"]), (rows[0]["tokens_per_s"], rows[1]["tokens_per_s"]))
        self.assertAlmostEqual(rows[5]["of_single"], rows[5]["tokens_per_s"] / rows[1]["tokens_per_s"])
        self.assertGreater(rows[6]["first_token_s"], 0)
        self.assertLessEqual(rows[6]["inter_token_s"], rows[6]["longest_inter_token_s"])

    def test_only_loops_that_the_processor_may_run_are_measured(self):
        names = self.figures("--cpu", "portable")["operations_per_s"].keys()
        self.assertEqual(list(names), ["int8_portable", "f32_portable"])

    def test_without_bounds_there_are_none(self):
        json_ = self.figures("--no-bounds")
        self.assertNotIn("read_bytes_per_s", json_)
        self.assertNotIn("bound_tokens_per_s", json_["figures"][0])

    def test_the_table_has_a_line_a_figure(self):
        run = tonnage(*self.SMALL, "--batch", 2, "--concurrency", 2)
        self.assertEqual(run.returncode, 0, run.stderr)
        for line in (r"measured here: [\d.]+ GB/s read, .* GOP/s f32_portable", r"tokens/s +bound +reached", r"prefill +8 tokens +[\d.]+ +[\d.]+ +[\d.]+%",
                     r"decode +4 tokens behind 8 ", r"batch +2 x 4 tokens behind 8 .*% +[\d.]+ x one request",
                     r"concurrency +2 x 4 tokens behind 8 .* first token \d+ ms, then one each [\d.]+ ms"):
            self.assertRegex(run.stdout, line)

    def test_memory_for_the_bounds_is_under_the_limit_too(self):
        run = tonnage(*self.SMALL, "--memory-limit", "200M")
        self.assertEqual(run.returncode, 3)
        self.assertIn("--no-bounds", run.stderr)
        self.assertEqual(tonnage(*self.SMALL, "--memory-limit", "200M", "--no-bounds").returncode, 0)

    def test_bad_numbers_are_2(self):
        for args in (("--batch", 0), ("--depth", -1), ("--concurrency", "x"), ("--ids", "[]"), ("--repeat", 0)):
            run = tonnage(*self.SMALL[:2], *args)
            self.assertEqual(run.returncode, 2, f"{args}: {run.stderr}")


class Eval(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = self.folder / "text"
        self.text.write_text("The quick brown fox jumps over the lazy dog. " * 6)
        self.reference = self.folder / "reference"

    def eval(self, *args, window=16):
        run = tonnage("eval", CHAT, "--perplexity", self.text, "--window", window, "--json", *args)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def ids(self):
        return json.loads(tonnage("tokenize", CHAT, stdin=json.dumps(self.text.read_text()) + "\n").stdout)

    def test_perplexity_is_that_of_the_logits(self):
        ids, log_probs = self.ids(), []
        for first in range(0, len(ids), 16):
            window = ids[first:first + 16]
            out = self.folder / "logits"
            self.assertEqual(tonnage("logits", CHAT, "--out", out, stdin=json.dumps(window) + "\n").returncode, 0)
            shape, data, _ = read_safetensors(out)["logits"]
            for row in range(len(window) - 1):
                logits = struct.unpack_from(f"<{shape[1]}f", data, row * shape[1] * 4)
                top = max(logits)
                log_probs.append(logits[window[row + 1]] - top - math.log(sum(math.exp(x - top) for x in logits)))
        result = self.eval()
        self.assertEqual((result["tokens"], result["window"], result["predicted_tokens"]), (len(ids), 16, len(log_probs)))
        self.assertAlmostEqual(result["perplexity"] / math.exp(-sum(log_probs) / len(log_probs)), 1, delta=1e-6)

    def test_a_run_does_not_diverge_from_itself_and_precisions_do(self):
        run = tonnage("eval", CHAT, "--perplexity", self.text, "--window", 16, "--save", self.reference)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"reference: [\d.]+ [KM]iB will be written")
        self.assertRegex(run.stdout, r"tokens in windows of 16\nperplexity +[\d.]+\n$")
        same = self.eval("--kl", self.reference)
        self.assertEqual((same["mean_kl"], same["max_kl"], same["top_token_same"], same["perplexity_change"]), (0, 0, 1, 0))
        other = self.eval("--kl", self.reference, "--kv", "bf16")
        self.assertGreater(other["mean_kl"], 0)
        self.assertLess(other["mean_kl"], 0.01)
        self.assertLessEqual(other["mean_kl"], other["max_kl"])
        self.assertAlmostEqual(other["perplexity_change"], other["perplexity"] / other["reference_perplexity"] - 1)
        self.assertEqual(other["reference_perplexity"], same["perplexity"])
        run = tonnage("eval", CHAT, "--perplexity", self.text, "--window", 16, "--kl", self.reference)
        self.assertRegex(run.stdout, r"KL divergence +0.00e\+00 mean, 0.00e\+00 at most\nsame top token +100.00%\n$")

    def test_a_reference_of_something_else_is_refused(self):
        self.eval("--save", self.reference)
        for change, window, words in (
                (lambda: None, 8, "windows of 16 tokens, this run of 8"),
                (lambda: self.text.write_text("Something else entirely, as long or not."), 16, "other tokens"),
                (lambda: self.reference.write_text("junk"), 16, "reference")):
            change()
            run = tonnage("eval", CHAT, "--perplexity", self.text, "--window", window, "--kl", self.reference)
            self.assertIn(run.returncode, (2, 4), run.stderr)
            self.assertIn(words, run.stderr)
            self.assertEqual(run.stdout, "")

    def test_what_cannot_be_evaluated_is_told(self):
        for content, code, words in ((None, 4, "none"), ("", 2, "0 tokens"), ("a", 2, "1 tokens")):
            path = self.folder / "none"
            if content is not None:
                path.write_text(content)
            run = tonnage("eval", CHAT, "--perplexity", path)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(words, run.stderr)
        self.assertEqual(tonnage("eval", CHAT).returncode, 2)
        self.assertEqual(tonnage("eval", CHAT, "--perplexity", self.text, "--kl", self.text, "--save", self.text).returncode, 2)
        self.assertEqual(tonnage("eval", LLAMA, "--perplexity", self.text).returncode, 4)  # no tokenizer

    def test_a_last_window_of_one_token_is_left_out(self):
        count = len(self.ids())
        self.assertEqual(self.eval(window=count - 1)["tokens"], count - 1)
        self.assertEqual(self.eval(window=count - 2)["tokens"], count)
        self.assertEqual(self.eval(window=10 * count)["window"], count)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
