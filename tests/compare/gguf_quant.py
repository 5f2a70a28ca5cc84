"""Compares our reading of every GGUF block format, and our writing of q4_0, q4_1 and q8_0, with the gguf package on
random cases. For q4_k and q6_k, which that package cannot write, prints the error that our quantizers leave beside that
of rounding alone.

usage: gguf_quant.py QUANT_CASES [CASES [SEED]]        (needs numpy and gguf; QUANT_CASES is build/*/quant_cases)
"""
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize, quantize

from quant_program import Cases

# The elements of a block, its bytes, and where it keeps float16 numbers.
LAYOUTS = {
    "q4_0": (T.Q4_0, 32, 18, (0,)),
    "q4_1": (T.Q4_1, 32, 20, (0, 2)),
    "q5_0": (T.Q5_0, 32, 22, (0,)),
    "q5_1": (T.Q5_1, 32, 24, (0, 2)),
    "q8_0": (T.Q8_0, 32, 34, (0,)),
    "q2_k": (T.Q2_K, 256, 84, (80, 82)),
    "q3_k": (T.Q3_K, 256, 110, (108,)),
    "q4_k": (T.Q4_K, 256, 144, (0, 2)),
    "q5_k": (T.Q5_K, 256, 176, (0, 2)),
    "q6_k": (T.Q6_K, 256, 210, (208,)),
    "iq4_nl": (T.IQ4_NL, 32, 18, (0,)),
    "iq4_xs": (T.IQ4_XS, 256, 136, (0,)),
    "mxfp4_gguf": (T.MXFP4, 32, 17, ()),
}


def random_blocks(rng, shape, name):
    _, elements, size, floats = LAYOUTS[name]
    rows, count = shape[0], shape[1] // elements
    blocks = rng.integers(0, 256, (rows, count, size), dtype=np.uint8)
    for at in floats:
        numbers = (rng.standard_normal((rows, count)) * 10.0 ** rng.uniform(-8, 4)).astype(np.float16)
        blocks[:, :, at : at + 2] = numbers.view(np.uint8).reshape(rows, count, 2)
    return blocks.reshape(rows, -1)


def errors(program, rng):
    x = rng.standard_normal((64, 1024)).astype(np.float32) * rng.gamma(1, 1, (64, 1)).astype(np.float32)
    for name in ("q4_0", "q4_k", "q6_k"):
        kind, elements, size, _ = LAYOUTS[name]
        cases = Cases(program)
        cases.pack(name, x, x.size // elements * size)
        read = dequantize(np.frombuffer(cases.run()[0], np.uint8).reshape(64, -1), kind)
        print(f"{name}: relative error {np.sqrt(((read - x) ** 2).sum() / (x**2).sum()):.5f}")


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    cases, wanted = Cases(program), []
    for _ in range(count):
        name = list(LAYOUTS)[rng.integers(len(LAYOUTS))]
        kind, elements, size, _ = LAYOUTS[name]
        shape = int(rng.integers(1, 4)), 256 * int(rng.integers(1, 3))
        blocks = random_blocks(rng, shape, name)
        cases.unpack(name, shape, blocks.tobytes())
        wanted.append((name + " read", dequantize(blocks, kind)))
        if name in ("q4_0", "q4_1", "q8_0"):
            x = (rng.standard_normal(shape) * 10.0 ** rng.uniform(-6, 3)).astype(np.float32)
            written = quantize(x, kind).tobytes()
            cases.pack(name, x, len(written))
            wanted.append((name + " written", written))
    different = 0
    for (name, want), got in zip(wanted, cases.run()):
        if isinstance(want, bytes):
            same = want == got
        else:
            same = np.array_equal(want.ravel(), np.frombuffer(got, np.float32), equal_nan=True)
        if not same:
            different += 1
            if different <= 20:
                print("differs:", name)
    print(f"{len(wanted)} comparisons, {different} differences")
    errors(program, rng)
    sys.exit(different != 0)


if __name__ == "__main__":
    main()
