"""Compares our MLX quantizers with MLX's own (CPU backend), in both directions, on random cases: the bytes that are
written, and the float32 numbers that are read.

usage: mlx_quant.py QUANT_CASES [CASES [SEED]]        (needs numpy and mlx; QUANT_CASES is build/*/quant_cases)
"""
import sys

import mlx.core as mx
import numpy as np

from quant_program import Cases

MODES = [("affine", b, g) for b in (2, 3, 4, 5, 6, 8) for g in (32, 64, 128)]
MODES += 4 * [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]
TYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}
BATCH = 500


def values(rng, rows, cols):
    n = rng.standard_normal((rows, cols))
    scale = 10.0 ** rng.uniform(-9, 4)
    kind = rng.integers(12)
    if kind < 4:
        n *= scale
    elif kind == 4:
        n = np.abs(n) * scale
    elif kind == 5:
        n = -np.abs(n) * scale
    elif kind == 6:
        n[:, :: int(rng.integers(2, 60))] *= 10.0 ** rng.uniform(0, 4)
    elif kind == 7:
        n = np.repeat(n[:, : cols // 16], 16, axis=1) * scale
    elif kind == 8:
        n *= rng.random((rows, cols)) < 0.1
    elif kind == 9:
        n = np.round(n * 4) / 4 * 2.0 ** rng.integers(-12, 8)  # halves between codes
    elif kind == 10:
        n = np.sign(n) * 2.0 ** rng.integers(-45, 12, (rows, cols))  # down to subnormals of float16
    else:
        n *= 2.0 ** rng.uniform(-140, 110)
    return n.astype(np.float32)


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    mx.set_default_device(mx.cpu)
    different = done = 0
    while done < count:
        cases, wanted = Cases(program), []
        for _ in range(min(BATCH, count - done)):
            mode, bits, group = MODES[rng.integers(len(MODES))]
            dtype = list(TYPES)[rng.integers(3)]
            cols = 128 * int(rng.integers(1, 4)) if mode == "affine" else 32 * int(rng.integers(1, 9))
            w = mx.array(values(rng, int(rng.integers(1, 4)), cols)).astype(TYPES[dtype])
            x = np.array(w.astype(mx.float32))
            if not np.isfinite(x).all():
                w = mx.zeros_like(w)
                x = np.zeros_like(x)
            parts = mx.quantize(w, group_size=group, bits=bits, mode=mode)
            raw = [np.array(p.view(mx.uint8)).tobytes() for p in parts]
            exact = [p.astype(mx.float32) if p.dtype in TYPES.values() else p for p in parts]
            numbers = mx.dequantize(*exact, group_size=group, bits=bits, mode=mode, dtype=mx.float32)
            mx.eval(numbers)
            options = {"dtype": dtype, "bits": bits, "group": group} if mode == "affine" else {"dtype": dtype}
            cases.pack(mode, x, sum(map(len, raw)), **options)
            cases.unpack(mode, x.shape, b"".join(raw), **options)
            name = f"{mode} {bits}-bit g{group} {dtype} {x.shape}"
            wanted += [(name + " written", b"".join(raw)), (name + " read", np.array(numbers))]
        for (name, want), got in zip(wanted, cases.run()):
            if isinstance(want, np.ndarray):
                same = np.array_equal(want.ravel(), np.frombuffer(got, np.float32), equal_nan=True)
            else:
                same = want == got
            if not same:
                different += 1
                if different <= 20:
                    print("differs:", name)
        done += len(wanted) // 2
    print(f"{done} cases, MLX {mx.__version__}, {different} differences")
    sys.exit(different != 0)


if __name__ == "__main__":
    main()
