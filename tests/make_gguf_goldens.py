"""Writes the golden checkpoints as GGUF files, as llama.cpp's converter would: its tensor names, its
metadata, q and k of llama reordered for RoPE on neighbours, llama3 scaling as a tensor of divisors.

usage: make_gguf_goldens.py GOLDEN_MODELS_DIR OUT_DIR      (needs numpy and gguf)
Each GOLDEN_MODELS_DIR/<name>/ holds config.json and model.safetensors; OUT_DIR/<name>.gguf has the same
weights, matrices in BF16 and vectors in F32, so the golden logits are the same.
"""
import json
import math
import os
import struct
import sys

import gguf
import numpy as np

ARCHITECTURES = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3_moe": "qwen3moe"}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, info in header.items():
        begin, end = (8 + length + offset for offset in info["data_offsets"])
        assert info["dtype"] == "BF16", name
        bits = np.frombuffer(data[begin:end], np.uint16).astype(np.uint32) << 16
        tensors[name] = bits.view(np.float32).reshape(info["shape"])
    return tensors


def neighbours(tensor, heads):
    """Rows of each head from halves (i, i + d/2) to neighbours (2i, 2i + 1)."""
    rows = tensor.shape[0]
    return tensor.reshape(heads, 2, rows // heads // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def llama3_divisors(rope, head_dim):
    frequency = rope["rope_theta"] ** -(np.arange(0, head_dim, 2) / head_dim)
    turns = rope["original_max_position_embeddings"] * frequency / (2 * math.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / rope["factor"] + smooth)).astype(np.float32)


def stack_experts(tensors, layers, experts):
    for layer in range(layers):
        for matrix in ("gate_proj", "up_proj", "down_proj"):
            prefix = f"model.layers.{layer}.mlp.experts."
            parts = [tensors.pop(f"{prefix}{e}.{matrix}.weight") for e in range(experts)]
            tensors[f"{prefix}{matrix}.weight"] = np.stack(parts)


def write_metadata(writer, config, head_dim):
    rope = config["rope_parameters"]
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(head_dim)
    experts = config.get("num_experts", config.get("num_local_experts"))
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    return experts


def convert(folder, out, architecture):
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    tensors = read_safetensors(os.path.join(folder, "model.safetensors"))
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer = gguf.GGUFWriter(out, architecture)
    experts = write_metadata(writer, config, head_dim)
    if experts:
        stack_experts(tensors, layers, experts)
    if config["rope_parameters"]["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config["rope_parameters"], head_dim))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.upper()], layers)
    for name, tensor in tensors.items():
        if architecture == "llama" and "q_proj" in name:
            tensor = neighbours(tensor, heads)
        if architecture == "llama" and "k_proj" in name:
            tensor = neighbours(tensor, config["num_key_value_heads"])
        new_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert new_name, name
        if tensor.ndim == 1 or "ffn_gate_inp" in new_name:
            writer.add_tensor(new_name, tensor)
        else:
            kind = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(new_name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    models, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    for name, architecture in ARCHITECTURES.items():
        path = os.path.join(out, name + ".gguf")
        convert(os.path.join(models, name), path, architecture)
        print(path, os.path.getsize(path))


if __name__ == "__main__":
    main()
