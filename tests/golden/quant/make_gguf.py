"""Golden bytes of the GGUF block formats, from the `gguf` Python package.

usage: make_gguf.py OUT.safetensors

Tensors: `in/<kind>` F32 [ROWS, COLS]; `q/<format>/<kind>` U8, what the package's quantizer writes for it; and
`blocks/<format>` U8 [ROWS, bytes], random valid blocks, with `numbers/<format>` F32, what its dequantizer reads from them.
"""
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file

ROWS, COLS = 3, 512
rng = np.random.default_rng(5)
n = rng.standard_normal((ROWS, COLS)).astype(np.float32)
outlier = n.copy()
outlier[:, ::37] *= 50
kinds = {
    "normal": n * np.float32(0.02),
    "positive": np.abs(n) + np.float32(0.1),
    "zeros": np.zeros_like(n),
    "constant": np.repeat(n[:, : COLS // 32], 32, axis=1),
    "outlier": outlier,
    "halves": np.round(n * 8) / np.float32(2),
}
out = {f"in/{kind}": x for kind, x in kinds.items()}
for name, kind_of in (("q4_0", T.Q4_0), ("q4_1", T.Q4_1), ("q8_0", T.Q8_0), ("bf16", T.BF16), ("f16", T.F16)):
    for kind, x in kinds.items():
        out[f"q/{name}/{kind}"] = np.ascontiguousarray(quantize(x, kind_of)).view(np.uint8).reshape(ROWS, -1)

# Where each block keeps its float16 numbers, which are made finite.
layouts = {
    "q4_0": (T.Q4_0, 18, (0,)),
    "q4_1": (T.Q4_1, 20, (0, 2)),
    "q8_0": (T.Q8_0, 34, (0,)),
    "q6_k": (T.Q6_K, 210, (208,)),
    "f16": (T.F16, 2, (0,)),
    "bf16": (T.BF16, 2, ()),
}
for name, (kind_of, size, floats) in layouts.items():
    count = COLS // {18: 32, 20: 32, 34: 32, 210: 256, 2: 1}[size]
    blocks = rng.integers(0, 256, (ROWS, count, size), dtype=np.uint8)
    for at in floats:
        values = (rng.standard_normal((ROWS, count)) * 0.01).astype(np.float16)
        values[0, 0] = np.float16(6e-8)  # a subnormal
        blocks[:, :, at : at + 2] = values.view(np.uint8).reshape(ROWS, count, 2)
    if name == "bf16":
        blocks = quantize(n, kind_of).view(np.uint8).reshape(ROWS, count, 2)
    out[f"blocks/{name}"] = blocks.reshape(ROWS, -1)
    out[f"numbers/{name}"] = np.ascontiguousarray(dequantize(blocks.reshape(ROWS, -1), kind_of), dtype=np.float32)
save_file(out, sys.argv[1])
