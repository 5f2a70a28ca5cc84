"""Talks to quant_cases (quant_cases.cc): collects cases, runs them all in one process, hands back the answers."""
import struct
import subprocess
import tempfile

import numpy as np

KINDS = {name: i for i, name in enumerate(
    "f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl mxfp4_gguf q2_k q3_k q4_k q5_k q6_k iq4_xs affine mxfp4 mxfp8 nvfp4 "
    "nvfp4_global fp8".split())}
DTYPES = {"float32": 0, "float16": 1, "bfloat16": 2}


class Cases:
    def __init__(self, program):
        self.program, self.parts, self.sizes = program, [], []

    def _add(self, op, kind, shape, dtype, bits, group, profile, payload, size):
        header = struct.pack("<10i", KINDS[kind], DTYPES[dtype], DTYPES[dtype], profile, bits, group, *shape, 0, 0)
        self.parts.append(op + header + payload)
        self.sizes.append(size)

    def pack(self, kind, values, size, dtype="float32", bits=0, group=0, profile=0):
        """values: float32 [n, k]; the answer has `size` bytes."""
        payload = np.ascontiguousarray(values, np.float32).tobytes()
        self._add(b"P", kind, values.shape, dtype, bits, group, profile, payload, size)

    def unpack(self, kind, shape, payload, dtype="float32", bits=0, group=0):
        self._add(b"U", kind, shape, dtype, bits, group, 0, payload, 4 * shape[0] * shape[1])

    def run(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"".join(self.parts))
            file.seek(0)
            out = subprocess.run([self.program], stdin=file, stdout=subprocess.PIPE, check=True).stdout
        assert len(out) == sum(self.sizes), (len(out), sum(self.sizes))
        answers, at = [], 0
        for size in self.sizes:
            answers.append(out[at : at + size])
            at += size
        return answers
