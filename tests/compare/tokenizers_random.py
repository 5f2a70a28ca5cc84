"""Random tokenizer.json files and random texts, through Hugging Face's tokenizers and through ours: no difference allowed.

usage: python tests/compare/tokenizers_random.py PROGRAM [--seed N] [--texts N] [--keep FOLDER] [--write FILE]

PROGRAM is build/tonnage. Every file draws from all of the format's components and options; the run fails when one of them
was drawn fewer than 20 times (in runs of 20,000 texts and more) or when any ids or any decoded text differ. What the
reference itself fails on (it panics on some files) is only required not to crash us. --write keeps a sample of the cases
as golden test data. Needs the PyPI package tokenizers.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_tokenizers  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

TEXTS_A_FILE = 50


def reference(call):
    """What the reference gives, or None where it raises or panics."""
    try:
        return call()
    except BaseException as error:  # a panic in Rust is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def run(program, command, folder, flag, values):
    result = subprocess.run(
        [program, command, folder] + ([flag] if flag else []),
        input="".join(json.dumps(v) + "\n" for v in values).encode(), capture_output=True, check=False)
    if result.returncode not in (0, 4):
        raise SystemExit("%s %s ended with %d: %s" % (command, folder, result.returncode, result.stderr.decode()))
    if result.returncode == 4:
        return None, result.stderr.decode().strip()
    return [json.loads(line) for line in result.stdout.decode().split("\n")[:-1]], ""


class Comparison:
    def __init__(self, program, keep):
        self.program = program
        self.keep = keep
        self.differences = 0
        self.texts = 0
        self.files = 0
        self.reference_failures = 0

    def differ(self, what, spec, given, expected, got):
        self.differences += 1
        if self.keep:
            with open(os.path.join(self.keep, "difference-%d.json" % self.differences), "w") as out:
                json.dump({"tokenizer": spec, "what": what, "given": given, "expected": expected, "got": got}, out)
        elif self.differences <= 5:
            parts = {k: v for k, v in spec.items() if k not in ("model", "version")}
            model = {k: v for k, v in spec["model"].items() if k not in ("vocab", "merges")}
            print("DIFFERENCE in %s\n  given    %r\n  expected %s\n  got      %s\n  parts %s\n  model %s" % (
                what, given, json.dumps(expected), json.dumps(got), json.dumps(parts), json.dumps(model)))

    def compare(self, spec, texts, rng):
        """Returns the rows of a golden file for this tokenizer."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tokenizer.json"), "w") as out:
                json.dump(spec, out)
            return self.compare_in(folder, spec, texts, rng)

    def compare_in(self, folder, spec, texts, rng):
        self.files += 1
        self.texts += len(texts)
        theirs = reference(lambda: Tokenizer.from_str(json.dumps(spec)))
        ours, message = run(self.program, "tokenize", folder, None, texts)
        if theirs is None:
            self.reference_failures += 1
            return []
        if ours is None:
            self.differ("loading", spec, None, "a tokenizer", message)
            return []
        theirs.no_truncation()
        theirs.no_padding()
        special, _ = run(self.program, "tokenize", folder, "--special", texts)
        lists, rows = [], []
        for text, plain, with_special in zip(texts, ours, special):
            row = {"text": text}
            for key, add, got in (("ids", False, plain), ("ids_special", True, with_special)):
                ids = reference(lambda: theirs.encode(text, add_special_tokens=add).ids)
                if ids is None:
                    self.reference_failures += 1
                elif ids != got:
                    self.differ(key, spec, text, ids, got)
                row[key] = ids
            rows.append(row)
            lists.append(row["ids_special"] or row["ids"] or [])
        top = theirs.get_vocab_size() + 3
        lists += [[rng.randrange(top) for _ in range(rng.randrange(8))] for _ in range(len(texts) // 4)]
        for flag, skip in (("", False), ("--skip-special", True)):
            decoded, _ = run(self.program, "detokenize", folder, flag, lists)
            for i, (ids, got) in enumerate(zip(lists, decoded)):
                text = reference(lambda: theirs.decode(ids, skip_special_tokens=skip))
                if text is None:
                    self.reference_failures += 1
                elif text != got:
                    self.differ("decoding" + flag, spec, ids, text, got)
                if i < len(rows):
                    rows[i]["decoded_skip" if skip else "decoded"] = text
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=100000)
    parser.add_argument("--keep", help="a folder for differences, instead of printing the first few")
    parser.add_argument("--write", help="keep a sample as golden test data")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    comparison = Comparison(arguments.program, arguments.keep)
    drawn = collections.Counter()
    kept = []
    while comparison.texts < arguments.texts:
        spec, texts = random_tokenizers.make(rng, drawn, TEXTS_A_FILE)
        rows = comparison.compare(spec, texts, rng)
        if arguments.write and rows:
            kept.append({"tokenizer": spec, "rows": rows[:6]})
    if arguments.write:
        with open(arguments.write, "w") as out:
            for case in kept:
                out.write(json.dumps(case) + "\n")
    rare = {name: drawn[name] for name in random_tokenizers.OPTIONS if drawn[name] < 20}
    print("%d files, %d texts: %d differences; the reference failed %d times" % (
        comparison.files, comparison.texts, comparison.differences, comparison.reference_failures))
    if arguments.texts >= 20000 and rare:
        print("drawn fewer than 20 times:", rare)
        sys.exit(1)
    sys.exit(1 if comparison.differences else 0)


if __name__ == "__main__":
    main()
