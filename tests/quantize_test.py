#!/usr/bin/env python3
"""tonnage quantize on the golden models, and what it wrote loaded again: quantize_test.py TONNAGE SOURCE_DIR"""
import array
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
GOLDEN = pathlib.Path(sys.argv[2]).resolve() / "tests" / "golden"
LLAMA = GOLDEN / "models" / "llama"
MODES = [["--mode", "affine", "--bits", str(bits), "--group-size", "32"] for bits in (2, 3, 4, 5, 6, 8)]
MODES += [["--mode", mode] for mode in ("mxfp4", "mxfp8", "nvfp4")]
MODES += [["--mixed", recipe, "--group-size", "32"] for recipe in ("mixed_3_4", "mixed_3_6", "mixed_4_6", "mixed")]


def tonnage(*args, stdin=""):
    return subprocess.run([PROGRAM, *map(str, args)], input=stdin, text=True, capture_output=True, timeout=300)


def header(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + length]), data[8 + length:]


def tensor(path, name, code):
    tensors, data = header(path)
    begin, end = tensors[name]["data_offsets"]
    return array.array(code, data[begin:end])


class Quantize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ids = tensor(LLAMA / "golden.safetensors", "input_ids", "i").tolist()
        self.golden = tensor(LLAMA / "golden.safetensors", "logits", "f")

    def quantize(self, source, *options, name="out"):
        target = self.folder / name
        run = tonnage("quantize", source, target, *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return target

    def logits(self, model):
        out = self.folder / "logits"
        run = tonnage("logits", model, "--precision", "exact", "--out", out, stdin=json.dumps(self.ids) + "\n")
        self.assertEqual(run.returncode, 0, run.stderr)
        return tensor(out, "logits", "f")

    def distance(self, model):
        got = self.logits(model)
        self.assertEqual(len(got), len(self.golden))
        return max(abs(a - b) for a, b in zip(got, self.golden))

    def test_every_mode_is_read_again(self):
        for source in (LLAMA, GOLDEN / "models" / "qwen3_moe"):
            for i, mode in enumerate(MODES):
                with self.subTest(source=source.name, mode=mode):
                    target = self.quantize(source, *mode, "--scale-dtype", "float32", name=f"{source.name}-{i}")
                    self.assertEqual(json.loads((target / "config.json").read_text())["model_type"],
                                     json.loads((source / "config.json").read_text())["model_type"])
                    self.logits(target)

    def test_the_config_has_the_words_that_mlx_lm_reads(self):
        config = json.loads((self.quantize(GOLDEN / "models" / "qwen3_moe", "--bits", 8) / "config.json").read_text())
        self.assertEqual((config["num_experts"], config["num_local_experts"]), (8, 8))
        self.assertEqual((config["rope_theta"], config["rope_parameters"]["rope_theta"]), (10000, 10000))

    def test_more_bits_are_nearer(self):
        far = self.distance(self.quantize(LLAMA, "--bits", 3, "--group-size", 32, name="three"))
        near = self.distance(self.quantize(LLAMA, "--bits", 8, "--group-size", 32, name="eight"))
        self.assertLess(near, far / 4)

    def test_plain_numbers_are_the_model(self):
        self.assertLess(self.distance(self.quantize(LLAMA, "--mode", "none")), 2e-3)

    def test_a_gguf_file_becomes_a_folder(self):
        target = self.quantize(GOLDEN / "gguf" / "llama.gguf", "--mode", "none", "--dtype", "float32")
        self.assertNotIn("rope_interleaved", json.loads((target / "config.json").read_text()))
        self.assertLess(self.distance(target), 2e-3)

    def test_a_gguf_file_becomes_another(self):
        far = {kind: self.distance(self.quantize(GOLDEN / "gguf" / "llama.gguf", "--format", "gguf", "--type", kind, name=f"{kind}.gguf"))
               for kind in ("q4_0", "q8_0", "f16")}
        self.assertLess(far["f16"], 2e-3)
        self.assertLess(far["q8_0"], far["q4_0"] / 4)

    def test_a_second_quantization_of_the_same_is_the_same(self):
        first = self.quantize(LLAMA, "--bits", 4, "--group-size", 32, name="first")
        again = self.quantize(first, "--bits", 4, "--group-size", 32, name="again")
        self.assertEqual(header(first / "model.safetensors")[1], header(again / "model.safetensors")[1])

    def test_what_is_there_is_kept_without_force(self):
        target = self.quantize(LLAMA, "--group-size", 32)
        run = tonnage("quantize", LLAMA, target, "--group-size", 32)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--force", run.stderr)
        self.quantize(LLAMA, "--group-size", 32, "--force")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out"], "nothing else is left")

    def test_limits_are_those_of_a_load(self):
        for option, code, text in ((("--memory-limit", "1K"), 3, "1.0 KiB that --memory-limit allows"),
                                   (("--buffer-limit", "2"), 3, "all 2 that --buffer-limit allows"),
                                   (("--buffer-limit", "two"), 2, "--buffer-limit: `two`"),
                                   (("--memory-limit", "much"), 2, "--memory-limit: `much`")):
            run = tonnage("quantize", LLAMA, self.folder / "out", "--group-size", 32, *option)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(text, run.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])
        self.quantize(LLAMA, "--group-size", 32, "--buffer-limit", 3)

    def test_words_that_mean_nothing_are_refused(self):
        for options, part in [(["--mode", "int3"], "affine, mxfp4"), (["--bits", "7"], "2, 3, 4, 5, 6 or 8"), (["--mixed", "x"], "mixed_3_4"),
                              (["--mode", "mxfp4", "--bits", "8"], "no others"), (["--group-size", "48"], "32, 64 or 128"),
                              (["--profile", "tpu"], "cpu or gpu"), (["--scale-dtype", "int8"], "float32"),
                              (["--format", "onnx"], "mlx or gguf"), (["--format", "gguf", "--type", "q9"], "q4_0")]:
            run = tonnage("quantize", LLAMA, self.folder / "out", *options)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(part, run.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_inspect_shows_where_tensors_live(self):
        target = self.quantize(LLAMA, "--group-size", 32)
        rows = json.loads(tonnage("inspect", target, "--json").stdout)["tensors"]
        by_name = {row["name"]: row for row in rows}
        self.assertEqual(by_name["model.norm.weight"]["lives"], "cpu, f32")
        up = by_name["model.layers.0.mlp.up_proj.weight"]
        self.assertEqual((up["type"], up["bits_per_weight"]), ("affine 4-bit g32", 5))
        self.assertTrue(up["lives"].startswith("cpu, "))


unittest.main(argv=sys.argv[:1])
