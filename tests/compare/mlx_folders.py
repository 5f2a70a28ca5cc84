"""Folders that tonnage quantizes against mlx-lm, and folders that mlx-lm quantizes against tonnage: the logits of both.

usage: mlx_folders.py TONNAGE MODEL... [--tokens 48]   (needs: pip install 'mlx[cpu]' mlx-lm numpy)

MODEL is a folder, a GGUF file or a name in the store. For every mode: `tonnage quantize` with float32 scales, then mlx-lm's
logits in float32 against `tonnage logits --precision exact`; and, for folders, mlx-lm's own conversion of the float32 model
against ours. A difference beyond 2e-3 fails, beyond 1e-2 where weights have 2 bits: what is left of a model then amplifies
float32's own rounding (SmolLM2-135M, 2 bits, groups of 32: MLX is 2.1e-3 from the same arithmetic in float64, we are 4.2e-3). MLX looks up embeddings of the floating-point modes in bfloat16, which holds
them exactly; here the result goes on in float32.
"""
import argparse, json, subprocess, sys, tempfile
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_map
from mlx_lm.utils import load_model, quantize_model, save_config, save_model

LIMIT, LIMIT_2_BITS = 2e-3, 1e-2
MODES = [["--mode", "affine", "--bits", str(b), "--group-size", str(g)] for b in (2, 3, 4, 5, 6, 8) for g in (32, 64)]
MODES += [["--mode", mode] for mode in ("mxfp4", "mxfp8", "nvfp4", "none")]
MODES += [["--mixed", recipe, "--group-size", "32"] for recipe in ("mixed_3_4", "mixed_3_6", "mixed_4_6", "mixed")]

mx.set_default_device(mx.cpu)
lookup = nn.QuantizedEmbedding.__call__
nn.QuantizedEmbedding.__call__ = lambda self, x: lookup(self, x).astype(mx.float32)


def to_float32(model):
    model.update(tree_map(lambda p: p.astype(mx.float32) if mx.issubdtype(p.dtype, mx.floating) else p, model.parameters()))
    return model


def mlx_logits(model, ids):
    return np.array(to_float32(model)(mx.array(ids)[None]).astype(mx.float32))[0]


def tonnage_logits(program, folder, ids):
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as out:
        subprocess.run([program, "logits", str(folder), "--precision", "exact", "--out", out.name], input=json.dumps(ids) + "\n",
                       text=True, check=True)
        return np.array(mx.load(out.name)["logits"])


def older_words(folder):
    """The words that mlx-lm reads, for a config that has the newer ones only."""
    config = json.loads((folder / "config.json").read_text())
    rope = config.get("rope_parameters") or {}
    extra = {k: rope[k] for k in ("rope_theta",) if k in rope and k not in config}
    if "num_local_experts" in config and "num_experts" not in config:
        extra["num_experts"] = config["num_local_experts"]
    if rope.get("rope_type", "default") != "default" and "rope_scaling" not in config:
        extra["rope_scaling"] = rope
    return extra


def mlx_convert(source, target, mode):
    model, config = load_model(source, model_config=older_words(source))
    options = dict(zip(mode[::2], mode[1::2]))
    to_float32(model)
    model, config = quantize_model(model, config, int(options.get("--group-size", 0)) or None, int(options.get("--bits", 0)) or None,
                                   mode=options["--mode"])
    save_model(target, model)
    save_config(config, target / "config.json")
    return model


def report(name, ours, theirs):
    worst = float(np.abs(ours - theirs).max())
    good = worst <= (LIMIT_2_BITS if "--bits 2" in name else LIMIT)
    print(f"{'ok  ' if good else 'FAIL'} {worst:.1e}  {name}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tokens", type=int, default=48)
    args = parser.parse_args()
    good = True
    for source in args.models:
        for mode in MODES:
            with tempfile.TemporaryDirectory() as work:
                ours = Path(work) / "ours"
                subprocess.run([args.program, "quantize", source, str(ours), "--scale-dtype", "float32", *mode], check=True,
                               stderr=subprocess.DEVNULL)
                vocab = json.loads((ours / "config.json").read_text())["vocab_size"]
                ids = np.random.default_rng(1).integers(0, vocab, args.tokens).tolist()
                name = f"{source} {' '.join(mode)}"
                model, _ = load_model(ours)
                good &= report("ours in mlx-lm    " + name, tonnage_logits(args.program, ours, ids), mlx_logits(model, ids))
                if Path(source).is_dir() and "--mixed" not in mode and "none" not in mode:
                    theirs = Path(work) / "theirs"
                    model = mlx_convert(Path(source), theirs, mode)
                    good &= report("mlx-lm's in ours  " + name, tonnage_logits(args.program, theirs, ids), mlx_logits(model, ids))
    sys.exit(0 if good else 1)


main()
