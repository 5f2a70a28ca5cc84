"""What tests of the program against our hub stand on, in a script whose arguments are TONNAGE SOURCE_DIR: the models that
the hub has, and a case with a hub, a home and an empty store of its own."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import fake_hub

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
GOLDEN = pathlib.Path(sys.argv[2]).resolve() / "tests" / "golden"
LLAMA = GOLDEN / "models" / "llama"
GGUF = (GOLDEN / "gguf" / "llama.gguf").read_bytes()
BLOCK = 8 << 20  # of a download
HEADER = 1 << 20  # the first range of a GGUF file that a quote asks for


def tensors(path):
    data = path.read_bytes()
    return {k: v for k, v in json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]]).items() if k != "__metadata__"}


def sharded(folder, shards):
    """A checkpoint's files, its weights dealt out to several."""
    data = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = tensors(folder / "model.safetensors")
    files = {"config.json": (folder / "config.json").read_bytes(), "README.md": b"not for us", "pytorch_model.bin": b"neither"}
    weight_map = {}
    names = sorted(header)
    for i in range(shards):
        name = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part, body = {}, b""
        for tensor in names[i::shards]:
            begin, end = header[tensor]["data_offsets"]
            part[tensor] = header[tensor] | {"data_offsets": [len(body), len(body) + end - begin]}
            body += data[8 + length + begin:8 + length + end]
            weight_map[tensor] = name
        text = json.dumps(part).encode()
        files[name] = struct.pack("<Q", len(text)) + text + body
    files["model.safetensors.index.json"] = json.dumps({"metadata": {}, "weight_map": weight_map}).encode()
    return files


def terms(table):
    """A plan's rows without what depends on the process and the moment: its own memory, and with it the total."""
    _, head, *rows = table.splitlines()
    columns = [head[:9].strip()] + [head[at:at + 13].strip() for at in range(9, len(head), 13)]
    cells = [[row[:9].strip()] + [row[at:at + 13].strip() for at in range(9, len(head), 13)] for row in rows]
    return [{k: v for k, v in zip(columns, row) if k not in ("runtime", "total")} for row in cells]


TOKENIZER = fake_hub.folder_files(GOLDEN / "tiny_chat")
FOLDER = sharded(LLAMA, 3) | TOKENIZER | {"additional_chat_templates/tool.jinja": b"{{ messages }}"}
# What follows a GGUF file's tensors belongs to nobody: it makes this one long.
LONG = GGUF + random.Random(1).randbytes(5 * BLOCK + 12345)
REPOSITORIES = {"org/folder": FOLDER, "org/long": {"long.gguf": LONG, "README.md": b"x"}}


class HubTest(unittest.TestCase):
    def setUp(self):
        self.hub = self.enterContext(fake_hub.FakeHub({k: dict(v) for k, v in REPOSITORIES.items()}))
        self.home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = self.home / "store"

    def enterContext(self, context):  # of unittest, from Python 3.11 on
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def env(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING", "TRANSFORMERS_")) and "proxy" not in k.lower()}
        return clean | {"TONNAGE_HOME": str(self.store), "HF_HOME": str(self.home / "hf"), "HF_ENDPOINT": self.hub.url,
                        "HF_HUB_DOWNLOAD_TIMEOUT": "2"} | more

    def tonnage(self, *args, **env):
        return subprocess.run([PROGRAM, *map(str, args)], text=True, capture_output=True, timeout=120, env=self.env(**env))

    def start(self, *args, **env):
        process = subprocess.Popen([PROGRAM, *map(str, args)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.env(**env))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def names(self):
        return [row["name"] for row in json.loads(self.tonnage("list", "--json").stdout)]

    def pulls(self, name, **env):
        run = self.tonnage("pull", name, **env)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(name, self.names())
        return run

    def fails(self, name, code, *words, **env):
        run = self.tonnage("pull", name, **env)
        self.assertEqual(run.returncode, code, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(self.names(), [])
        self.assertEqual(list((self.store / "partial").rglob("*.*")) if self.store.exists() else [], [])
        return run

    def stored(self, name):
        return fake_hub.folder_files(self.store / "models" / name)

    def weights_asked(self, suffix):
        """Bytes of a file that were asked of the CDN."""
        return sum(r.last + 1 - r.first for r in self.hub.asked("cdn", suffix) if r.first is not None and r.method == "GET")
