"""Writes a llama-shaped folder of random weights in any storage mode, for measuring loads: random_checkpoint.py MODE OUT
[--gigabytes 2]   (needs: pip install numpy)

MODE: float32, float16, bfloat16; affine-BITS-GROUP; mxfp4, mxfp8, nvfp4; awq, gptq, fp8 (blocks of 128 x 128).
Values are noise: only speed and memory can be measured with it. Bytes are written tensor by tensor.
"""
import argparse, json, struct
from pathlib import Path

import numpy as np

HIDDEN, INNER, HEADS, KV_HEADS, VOCAB = 2048, 8192, 16, 4, 32768
SIZES = {"F32": 4, "F16": 2, "BF16": 2, "U32": 4, "I32": 4, "U8": 1, "F8_E4M3": 1}
NUMBERS = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def matrix(mode, name, n, k):
    """The tensors of one matrix: (name, type, shape)."""
    module = name.removesuffix(".weight")
    if mode in NUMBERS:
        return [(name, NUMBERS[mode], [n, k])]
    if mode.startswith("affine-"):
        bits, group = map(int, mode.split("-")[1:])
        return [(name, "U32", [n, k * bits // 32])] + [(f"{module}.{part}", "BF16", [n, k // group]) for part in ("scales", "biases")]
    if mode in ("mxfp4", "mxfp8", "nvfp4"):
        bits, group = {"mxfp4": (4, 32), "mxfp8": (8, 32), "nvfp4": (4, 16)}[mode]
        return [(name, "U32", [n, k * bits // 32]), (module + ".scales", "U8", [n, k // group])]
    if "embed" in name or "head" in name:
        return [(name, "F16", [n, k])]
    if mode == "fp8":
        return [(name, "F8_E4M3", [n, k]), (name + "_scale_inv", "F32", [-(-n // 128), -(-k // 128)])]
    shape = {"awq": [k, n // 8], "gptq": [k // 8, n]}[mode]
    return [(module + ".qweight", "I32", shape), (module + ".qzeros", "I32", [k // 128, n // 8]), (module + ".scales", "F16", [k // 128, n])]


def config(mode, layers):
    out = {"model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_attention_heads": HEADS, "vocab_size": VOCAB,
           "num_key_value_heads": KV_HEADS, "num_hidden_layers": layers, "rms_norm_eps": 1e-5, "max_position_embeddings": 8192,
           "tie_word_embeddings": False, "rope_theta": 10000.0}
    if mode.startswith("affine-"):
        bits, group = map(int, mode.split("-")[1:])
        out["quantization"] = {"bits": bits, "group_size": group}
    elif mode in ("mxfp4", "mxfp8", "nvfp4"):
        out["quantization"] = {"mode": mode, "bits": 8 if mode == "mxfp8" else 4, "group_size": 16 if mode == "nvfp4" else 32}
    elif mode in ("awq", "gptq"):
        out["quantization_config"] = {"quant_method": mode, "bits": 4, "group_size": 128}
    elif mode == "fp8":
        out["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    return out


def layer(mode, i):
    kv = HIDDEN // HEADS * KV_HEADS
    shapes = {"self_attn.q_proj": (HIDDEN, HIDDEN), "self_attn.k_proj": (kv, HIDDEN), "self_attn.v_proj": (kv, HIDDEN),
              "self_attn.o_proj": (HIDDEN, HIDDEN), "mlp.gate_proj": (INNER, HIDDEN), "mlp.up_proj": (INNER, HIDDEN),
              "mlp.down_proj": (HIDDEN, INNER)}
    prefix = f"model.layers.{i}."
    tensors = [(prefix + norm + ".weight", "F32", [HIDDEN]) for norm in ("input_layernorm", "post_attention_layernorm")]
    for name, (n, k) in shapes.items():
        tensors += matrix(mode, prefix + name + ".weight", n, k)
    return tensors


def size(tensor):
    return SIZES[tensor[1]] * int(np.prod(tensor[2]))


def filling(name, kind):
    """What a tensor is filled with, again and again. No float is made infinite or not a number: the exponents stay small."""
    if name.endswith(".scales") and kind == "U8":
        return np.full(1 << 20, 0x38, np.uint8)
    if kind in ("F32", "F16", "BF16"):
        values = (np.random.default_rng(1).standard_normal(1 << 22) * 0.02).astype(np.float16 if kind == "F16" else np.float32)
        return (values.view(np.uint16)[1::2].copy() if kind == "BF16" else values).view(np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, 1 << 24, dtype=np.uint8)
    return noise & 0x77 if kind == "F8_E4M3" else noise


def write(path, tensors):
    header, at = {}, 0
    for tensor in tensors:
        header[tensor[0]] = {"dtype": tensor[1], "shape": tensor[2], "data_offsets": [at, at + size(tensor)]}
        at += size(tensor)
    text = json.dumps(header).encode()
    fillings = {}
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors:
            left = size(tensor)
            key = tensor[0].rsplit(".", 1)[-1], tensor[1]
            if key not in fillings:
                fillings[key] = filling(*tensor[:2])
            block = fillings[key]
            while left > 0:
                out.write(block[:left].data)
                left -= min(left, block.size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("out", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2)
    args = parser.parse_args()
    outside = matrix(args.mode, "model.embed_tokens.weight", VOCAB, HIDDEN) + matrix(args.mode, "lm_head.weight", VOCAB, HIDDEN)
    outside.append(("model.norm.weight", "F32", [HIDDEN]))
    each = sum(size(t) for t in layer(args.mode, 0))
    layers = max(1, round((args.gigabytes * 1e9 - sum(map(size, outside))) / each))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "config.json").write_text(json.dumps(config(args.mode, layers), indent=2))
    write(args.out / "model.safetensors", outside + [t for i in range(layers) for t in layer(args.mode, i)])


main()
