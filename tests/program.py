"""The program under test, which the first argument of a test names, and small models of the repository, the second."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
GOLDEN = pathlib.Path(sys.argv[2]).resolve() / "tests" / "golden"
TOKENIZER = GOLDEN / "tiny_chat"
LLAMA = GOLDEN / "models" / "llama"

# A model with a voice: the golden llama's weights with a small tokenizer and template.
CHAT_FOLDER = tempfile.TemporaryDirectory()
CHAT = pathlib.Path(CHAT_FOLDER.name)
for source in (LLAMA, TOKENIZER):
    for file in source.iterdir():
        shutil.copy(file, CHAT)


def tonnage(*args, stdin="", env=None):
    return subprocess.run([PROGRAM, *map(str, args)], input=stdin, text=True, capture_output=True, timeout=300,
                          env=os.environ | (env or {}))


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: (row["shape"], data[8 + length + row["data_offsets"][0]:8 + length + row["data_offsets"][1]], row["dtype"])
            for name, row in header.items() if name != "__metadata__"}
