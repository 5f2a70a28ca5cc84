#!/usr/bin/env python3
"""Writes a GGUF file of random Q4_0 weights in the shape of a real model: random_gguf.py SHAPE LAYERS OUT

Values are noise, so only memory and speed can be measured with it. It has no tokenizer. Needs nothing but Python."""
import random
import struct
import sys

SHAPES = {
    "smol135m": dict(arch="llama", hidden=576, ffn=1536, heads=9, kv_heads=3, head_dim=64, vocab=49152, base=1e5),
    "llama1b": dict(arch="llama", hidden=2048, ffn=8192, heads=32, kv_heads=8, head_dim=64, vocab=128256, base=5e5),
    "qwen3_moe": dict(arch="qwen3moe", hidden=2048, ffn=6144, heads=32, kv_heads=4, head_dim=128, vocab=32000, base=1e6,
                      experts=64, used=8, expert_ffn=768),
}
CONTEXT = 32768
ALIGNMENT = 32
F32, Q4_0 = 0, 2  # GGUF's numbers
BLOCK_ELEMENTS, BLOCK_BYTES = 32, 18


def tensors_of(shape, layers):
    """(name, dimensions from the outermost, type) of every tensor."""
    h, kv = shape["hidden"], shape["kv_heads"] * shape["head_dim"]
    q = shape["heads"] * shape["head_dim"]
    yield "token_embd.weight", (shape["vocab"], h), Q4_0
    yield "output_norm.weight", (h,), F32
    yield "output.weight", (shape["vocab"], h), Q4_0
    for i in range(layers):
        block = f"blk.{i}."
        for name, dims in (("attn_q", (q, h)), ("attn_k", (kv, h)), ("attn_v", (kv, h)), ("attn_output", (h, q))):
            yield f"{block}{name}.weight", dims, Q4_0
        for name in ("attn_norm", "ffn_norm"):
            yield f"{block}{name}.weight", (h,), F32
        if "experts" not in shape:
            for name, dims in (("ffn_gate", (shape["ffn"], h)), ("ffn_up", (shape["ffn"], h)), ("ffn_down", (h, shape["ffn"]))):
                yield f"{block}{name}.weight", dims, Q4_0
            continue
        for name in ("attn_q_norm", "attn_k_norm"):
            yield f"{block}{name}.weight", (shape["head_dim"],), F32
        e, f = shape["experts"], shape["expert_ffn"]
        yield f"{block}ffn_gate_inp.weight", (e, h), F32
        for name, dims in (("ffn_gate_exps", (e, f, h)), ("ffn_up_exps", (e, f, h)), ("ffn_down_exps", (e, h, f))):
            yield f"{block}{name}.weight", dims, Q4_0


def metadata_of(shape, layers):
    arch = shape["arch"]
    integers = {"context_length": CONTEXT, "embedding_length": shape["hidden"], "block_count": layers,
                "feed_forward_length": shape["ffn"], "attention.head_count": shape["heads"],
                "attention.head_count_kv": shape["kv_heads"], "attention.key_length": shape["head_dim"],
                "attention.value_length": shape["head_dim"], "rope.dimension_count": shape["head_dim"],
                "vocab_size": shape["vocab"]}
    if "experts" in shape:
        integers |= {"expert_count": shape["experts"], "expert_used_count": shape["used"],
                     "expert_feed_forward_length": shape["expert_ffn"]}
    floats = {"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": shape["base"]}
    yield "general.architecture", 8, string(arch)
    yield "tokenizer.ggml.model", 8, string("none")
    for key, value in integers.items():
        yield f"{arch}.{key}", 4, struct.pack("<I", value)
    for key, value in floats.items():
        yield f"{arch}.{key}", 6, struct.pack("<f", value)


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def count(dims):
    product = 1
    for dim in dims:
        product *= dim
    return product


def size_of(dims, kind):
    return count(dims) * 4 if kind == F32 else count(dims) // BLOCK_ELEMENTS * BLOCK_BYTES


class Noise:
    """Bytes of tensors, cut from one random tile that is repeated."""

    TILE_BLOCKS = 1 << 16

    def __init__(self):
        source = random.Random(0)
        scales = [struct.pack("<e", source.uniform(0.002, 0.006)) for _ in range(256)]
        self.blocks = b"".join(scales[i % 256] + source.randbytes(16) for i in range(self.TILE_BLOCKS))
        self.numbers = struct.pack("<4096f", *(source.gauss(0, 0.05) for _ in range(4096)))

    def write(self, out, dims, kind):
        left = size_of(dims, kind)
        # Vectors are factors of normalized values: ones.
        tile = struct.pack("<f", 1.0) * 4096 if len(dims) == 1 else self.numbers if kind == F32 else self.blocks
        while left > 0:
            out.write(tile[:left])
            left -= len(tile)


def write_model(name, layers, path):
    shape = SHAPES[name]
    metadata, tensors = list(metadata_of(shape, layers)), list(tensors_of(shape, layers))
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    header += b"".join(string(key) + struct.pack("<I", kind) + value for key, kind, value in metadata)
    offset = 0
    for tensor, dims, kind in tensors:
        header += string(tensor) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *reversed(dims))
        header += struct.pack("<IQ", kind, offset)
        offset += -(-size_of(dims, kind) // ALIGNMENT) * ALIGNMENT
    noise = Noise()
    with open(path, "wb") as out:
        out.write(header + bytes(-len(header) % ALIGNMENT))
        for _, dims, kind in tensors:
            noise.write(out, dims, kind)
            out.write(bytes(-size_of(dims, kind) % ALIGNMENT))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__ + "\nShapes: " + ", ".join(SHAPES))
    write_model(sys.argv[1], int(sys.argv[2]), sys.argv[3])
