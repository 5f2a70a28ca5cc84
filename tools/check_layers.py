#!/usr/bin/env python3
"""Checks that every #include under src/ goes where LAYERS allows: check_layers.py [ROOT]

A file belongs to the longest layer that is a prefix of its folder. Exits with 1 and a line for every breach."""
import pathlib
import re
import sys


def read_layers(path):
    layers = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, allowed = line.partition(":")
            layers[name] = allowed.split()
    return layers


def layer_of(folder, layers):
    while folder and folder not in layers:
        folder = folder.rpartition("/")[0]
    return folder


def may_include(layer, target, layers):
    if layer == target:
        return True
    for word in layers[layer]:
        if word in (target, "everything") or (word.endswith("/*") and target.startswith(word[:-1])):
            return True
    return False


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    layers = read_layers(root / "LAYERS")
    breaches = []
    for file in sorted((root / "src").rglob("*")):
        if file.suffix not in (".h", ".cc", ".inc", ".cu", ".cuh"):
            continue
        own = layer_of(file.parent.relative_to(root / "src").as_posix(), layers)
        if not own:
            breaches.append(f"{file}: in no layer of LAYERS")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match or "/" not in match[1]:
                continue
            target = layer_of(match[1].rpartition("/")[0], layers)
            if target and not may_include(own, target, layers):
                breaches.append(f"{file}:{number}: {own} may not include {target}")
    print("\n".join(breaches) if breaches else f"{len(layers)} layers, no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
