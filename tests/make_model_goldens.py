"""Writes tiny random checkpoints of what the reference implementation's goldens leave out: older spellings,
biases, windows by layer, every kind of RoPE, dense layers among expert layers, experts stored together.

usage: make_model_goldens.py OUT_DIR      (needs numpy)
Each OUT_DIR/<name>/ holds config.json, model.safetensors (bf16) and golden.safetensors, computed here in
float64 from the formulas that transformers documents: input_ids [T], logits [T, V], greedy_ids [N].
"""
import json
import math
import os
import struct
import sys

import numpy as np

PROMPT, ANSWER = 70, 12  # together more than one KV page

BASE = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, vocab_size=72, max_position_embeddings=512, rms_norm_eps=1e-5)


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def rounded(x):
    return (bf16(x).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


# --- RoPE: inverse frequencies and the factor on cos and sin ---

def rope_frequencies(c, dim, default_theta):
    p = {**c.get("rope_parameters", {}), **c.get("rope_scaling", {})}
    base = p.get("rope_theta", c.get("rope_theta", default_theta))
    kind = p.get("rope_type", p.get("type", "default"))
    plain = 1.0 / base ** (np.arange(0, dim, 2) / dim)
    original = p.get("original_max_position_embeddings", c["max_position_embeddings"])
    if kind == "linear":
        return plain / p["factor"], 1.0
    if kind == "llama3":
        wavelength = 2 * math.pi / plain
        low, high = original / p["low_freq_factor"], original / p["high_freq_factor"]
        smooth = (original / wavelength - p["low_freq_factor"]) / (p["high_freq_factor"] - p["low_freq_factor"])
        middle = (1 - smooth) * plain / p["factor"] + smooth * plain
        return np.where(wavelength < high, plain, np.where(wavelength > low, plain / p["factor"], middle)), 1.0
    if kind == "yarn":
        def pair(rotations):
            return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))
        low = max(math.floor(pair(p.get("beta_fast", 32))), 0)
        high = min(math.ceil(pair(p.get("beta_slow", 1))), dim - 1)
        ramp = np.clip((np.arange(dim // 2) - low) / (high - low if high != low else 0.001), 0, 1)
        return plain / p["factor"] * ramp + plain * (1 - ramp), 0.1 * math.log(p["factor"]) + 1
    if kind == "longrope":
        factor = c["max_position_embeddings"] / original
        return plain / np.array(p["short_factor"]), math.sqrt(1 + math.log(factor) / math.log(original))
    return plain, 1.0


def rotate(x, frequencies, magnitude):  # [T, heads, dim]
    half = len(frequencies)
    angle = np.arange(x.shape[0])[:, None, None] * frequencies
    cos, sin = np.cos(angle) * magnitude, np.sin(angle) * magnitude
    a, b = x[..., :half], x[..., half : 2 * half]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, x[..., 2 * half :]], -1)


# --- the decoder ---

def silu(x):
    return x / (1 + np.exp(-x))


def norm(x, w, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Decoder:
    """What the options mean: see VARIANTS."""

    def __init__(self, config, options, weights):
        self.c, self.o, self.w = config, options, weights

    def linear(self, x, name):
        y = x @ self.w[name + ".weight"].T
        return y + self.w[name + ".bias"] if name + ".bias" in self.w else y

    def attention(self, h, prefix, layer):
        c, rows = self.c, h.shape[0]
        heads, kv_heads, dim = c["num_attention_heads"], c["num_key_value_heads"], self.o["head_dim"]
        q = self.linear(h, prefix + "q_proj").reshape(rows, heads, dim)
        k = self.linear(h, prefix + "k_proj").reshape(rows, kv_heads, dim)
        v = self.linear(h, prefix + "v_proj").reshape(rows, kv_heads, dim)
        if self.o.get("qk_norm"):
            q = norm(q, self.w[prefix + "q_norm.weight"], c["rms_norm_eps"])
            k = norm(k, self.w[prefix + "k_norm.weight"], c["rms_norm_eps"])
        if layer not in self.o.get("nope", ()):
            frequencies, magnitude = rope_frequencies(c, dim, self.o.get("default_theta", 10000.0))
            q, k = rotate(q, frequencies, magnitude), rotate(k, frequencies, magnitude)
        k, v = (np.repeat(x, heads // kv_heads, axis=1) for x in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) * dim ** -0.5
        distance = np.arange(rows)[:, None] - np.arange(rows)[None, :]
        window = self.o.get("windows", {}).get(layer, rows)
        scores = np.where((distance >= 0) & (distance < window), scores, -np.inf)
        return self.linear(np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(rows, heads * dim), prefix + "o_proj")

    def mlp(self, h, prefix):
        gate, up = self.linear(h, prefix + "gate_proj"), self.linear(h, prefix + "up_proj")
        return self.linear(silu(gate) * up, prefix + "down_proj")

    def experts(self, h, prefix):
        top_k = self.c["num_experts_per_tok"]
        probability = softmax(self.linear(h, prefix + "gate"))
        out = np.zeros_like(h)
        for row in range(h.shape[0]):
            chosen = np.argsort(-probability[row], kind="stable")[:top_k]
            weight = probability[row, chosen]
            if self.c["norm_topk_prob"]:
                weight = weight / weight.sum()
            for e, p in zip(chosen, weight):
                out[row] += p * self.mlp(h[row], f"{prefix}experts.{e}.")
        return out

    def logits(self, ids):
        c = self.c
        x = self.w["model.embed_tokens.weight"][ids]
        for layer in range(c["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            h = norm(x, self.w[prefix + "input_layernorm.weight"], c["rms_norm_eps"])
            x = x + self.attention(h, prefix + "self_attn.", layer)
            h = norm(x, self.w[prefix + "post_attention_layernorm.weight"], c["rms_norm_eps"])
            is_expert = layer in self.o.get("expert_layers", ())
            x = x + (self.experts if is_expert else self.mlp)(h, prefix + "mlp.")
        x = norm(x, self.w["model.norm.weight"], c["rms_norm_eps"])
        return x @ self.w["model.embed_tokens.weight" if self.o.get("tied") else "lm_head.weight"].T


def random_weights(c, o, random):
    w = {}

    def matrix(name, n, k, bias=False):
        w[name + ".weight"] = rounded(random.standard_normal((n, k)) * 1.5 / k ** 0.5)
        if bias:
            w[name + ".bias"] = rounded(random.standard_normal(n) * 0.2)

    def vector(name, n):
        w[name + ".weight"] = rounded(1 + random.standard_normal(n) * 0.1)

    hidden, dim = c["hidden_size"], o["head_dim"]
    q, kv = c["num_attention_heads"] * dim, c["num_key_value_heads"] * dim
    matrix("model.embed_tokens", c["vocab_size"], hidden)
    for layer in range(c["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        vector(prefix + "input_layernorm", hidden)
        vector(prefix + "post_attention_layernorm", hidden)
        for name, n in (("q", q), ("k", kv), ("v", kv)):
            matrix(f"{prefix}self_attn.{name}_proj", n, hidden, o.get("qkv_bias"))
        matrix(prefix + "self_attn.o_proj", hidden, q, o.get("o_bias"))
        if o.get("qk_norm"):
            vector(prefix + "self_attn.q_norm", dim)
            vector(prefix + "self_attn.k_norm", dim)
        mlps = [(prefix + "mlp.", c["intermediate_size"])]
        if layer in o.get("expert_layers", ()):
            matrix(prefix + "mlp.gate", c["num_experts"], hidden)
            mlps = [(f"{prefix}mlp.experts.{e}.", c["moe_intermediate_size"]) for e in range(c["num_experts"])]
        for mlp, width in mlps:
            matrix(mlp + "gate_proj", width, hidden, o.get("mlp_bias"))
            matrix(mlp + "up_proj", width, hidden, o.get("mlp_bias"))
            matrix(mlp + "down_proj", hidden, width, o.get("mlp_bias"))
    vector("model.norm", hidden)
    if not o.get("tied"):
        matrix("lm_head", c["vocab_size"], hidden)
    return w


def stack_experts(w, c, o):
    """The newer spelling: gate above up, every expert in one tensor."""
    for layer in o["expert_layers"]:
        prefix = f"model.layers.{layer}.mlp.experts."
        part = lambda name: np.stack([w.pop(f"{prefix}{e}.{name}.weight") for e in range(c["num_experts"])])
        w[prefix + "gate_up_proj"] = np.concatenate([part("gate_proj"), part("up_proj")], 1)
        w[prefix + "down_proj"] = part("down_proj")
    return w


# name: config beyond BASE, what it means, how it is stored
VARIANTS = {
    "llama_biases": (
        dict(model_type="llama", tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
             num_attention_heads=8, rope_scaling=dict(type="linear", factor=2.5), rope_theta=20000.0),
        dict(head_dim=4, tied=True, qkv_bias=True, o_bias=True, mlp_bias=True)),
    "llama_yarn": (
        dict(model_type="llama", head_dim=16,
             rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=4.0)),
        dict(head_dim=16)),
    "llama_longrope": (
        dict(model_type="llama", max_position_embeddings=2048, rope_scaling=dict(
            type="longrope", short_factor=[1.0, 1.5, 2.0, 3.5], long_factor=[2.0, 3.0, 4.0, 5.0],
            original_max_position_embeddings=512)),
        dict(head_dim=8)),
    "mistral_nested": (
        dict(model_type="mistral", head_dim=12, sliding_window=24, num_key_value_heads=1,
             rope_parameters=dict(rope_type="llama3", rope_theta=50000.0, factor=4.0, low_freq_factor=1.0,
                                  high_freq_factor=4.0, original_max_position_embeddings=32)),
        dict(head_dim=12, windows={0: 24, 1: 24, 2: 24}, nested="mistral3")),
    "qwen2_windows": (
        dict(model_type="qwen2", use_sliding_window=True, sliding_window=10, max_window_layers=1),
        dict(head_dim=8, qkv_bias=True, windows={1: 10, 2: 10})),
    "qwen3_layer_types": (
        dict(model_type="qwen3", head_dim=16, attention_bias=True, use_sliding_window=True, sliding_window=7,
             layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
        dict(head_dim=16, qk_norm=True, qkv_bias=True, o_bias=True, windows={0: 7, 2: 7})),
    "smollm3_windows": (
        dict(model_type="smollm3", no_rope_layers=[1, 0, 1], attention_bias=True,
             use_sliding_window=True, sliding_window=9),
        dict(head_dim=8, tied=True, qkv_bias=True, o_bias=True, nope={1}, windows={1: 9},
             default_theta=2000000.0)),
    "qwen3_moe_mixed": (
        dict(model_type="qwen3_moe", head_dim=8, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3],
             num_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, norm_topk_prob=False),
        dict(head_dim=8, qk_norm=True, expert_layers={1})),
    "qwen3_moe_stacked": (
        dict(model_type="qwen3_moe", head_dim=8, num_hidden_layers=2, num_experts=5, num_experts_per_tok=2,
             moe_intermediate_size=16, norm_topk_prob=True),
        dict(head_dim=8, qk_norm=True, expert_layers={0, 1}, stacked=True)),
}


def continue_greedily(decoder, ids):
    """The next ANSWER tokens, or None where float32 rounding could turn one of them."""
    answer = []
    for _ in range(ANSWER):
        last = decoder.logits(ids + answer)[-1]
        first, second = np.sort(last)[:-3:-1]
        if first - second < 2e-3:
            return None
        answer.append(int(last.argmax()))
    return answer


def write(folder, changes, options, seed):
    config = {**BASE, **changes}
    answer = None
    while answer is None:
        random = np.random.default_rng(seed)
        weights = random_weights(config, options, random)
        decoder = Decoder(config, options, weights)
        ids = list(random.integers(0, config["vocab_size"], PROMPT))
        answer = continue_greedily(decoder, ids)
        seed += 100
    logits = decoder.logits(ids)

    os.makedirs(folder, exist_ok=True)
    if options.get("stacked"):
        weights = stack_experts(weights, config, options)
    if options.get("nested"):
        weights = {"language_model." + name: w for name, w in weights.items()}
        config = dict(model_type=options["nested"], text_config=config)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
        file.write("\n")
    write_safetensors(os.path.join(folder, "model.safetensors"),
                      {name: ("BF16", bf16(w)) for name, w in sorted(weights.items())})
    write_safetensors(os.path.join(folder, "golden.safetensors"), {
        "logits": ("F32", logits.astype(np.float32)),
        "greedy_ids": ("I32", np.array(answer, np.int32)),
        "input_ids": ("I32", np.array(ids, np.int32))})


def main():
    for index, (name, (changes, options)) in enumerate(VARIANTS.items()):
        write(os.path.join(sys.argv[1], name), changes, options, seed=index + 1)
        print("wrote", name)


if __name__ == "__main__":
    main()
