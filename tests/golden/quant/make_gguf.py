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

# The elements of a block, its bytes, and where it keeps its float16 numbers, which are made finite.
layouts = {
    "q4_0": (T.Q4_0, 32, 18, (0,)),
    "q4_1": (T.Q4_1, 32, 20, (0, 2)),
    "q8_0": (T.Q8_0, 32, 34, (0,)),
    "q6_k": (T.Q6_K, 256, 210, (208,)),
    "f16": (T.F16, 1, 2, (0,)),
    "bf16": (T.BF16, 1, 2, ()),
    "q5_0": (T.Q5_0, 32, 22, (0,)),
    "q5_1": (T.Q5_1, 32, 24, (0, 2)),
    "q2_k": (T.Q2_K, 256, 84, (80, 82)),
    "q3_k": (T.Q3_K, 256, 110, (108,)),
    "q4_k": (T.Q4_K, 256, 144, (0, 2)),
    "q5_k": (T.Q5_K, 256, 176, (0, 2)),
    "iq4_nl": (T.IQ4_NL, 32, 18, (0,)),
    "iq4_xs": (T.IQ4_XS, 256, 136, (0,)),
    "mxfp4 (gguf)": (T.MXFP4, 32, 17, ()),
}
for name, (kind_of, elements, size, floats) in layouts.items():
    count = COLS // elements
    blocks = rng.integers(0, 256, (ROWS, count, size), dtype=np.uint8)
    for at in floats:
        values = (rng.standard_normal((ROWS, count)) * 0.01).astype(np.float16)
        values[0, 0] = np.float16(6e-8)  # a subnormal
        blocks[:, :, at : at + 2] = values.view(np.uint8).reshape(ROWS, count, 2)
    if name == "bf16":
        blocks = quantize(n, kind_of).view(np.uint8).reshape(ROWS, count, 2)
    if name == "mxfp4 (gguf)":
        blocks[:, :, 0] = np.arange(ROWS * count).reshape(ROWS, count) % 256
    out[f"blocks/{name}"] = blocks.reshape(ROWS, -1)
    out[f"numbers/{name}"] = np.ascontiguousarray(dequantize(blocks.reshape(ROWS, -1), kind_of), dtype=np.float32)
save_file(out, sys.argv[1])
