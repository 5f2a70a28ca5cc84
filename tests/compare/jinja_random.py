"""Random chat templates through Jinja2 and through ours: no difference allowed.

usage: python tests/compare/jinja_random.py PROGRAM [--seed N] [--templates N] [--keep FOLDER] [--write FILE [--rows N]]

PROGRAM is build/tonnage. Templates and variables come from random_templates.py; Jinja2 (PyPI) is set up as Hugging Face's
apply_chat_template sets it up. The run fails when any rendering differs, when one of the two fails where the other does
not, or (in runs of 2,000 templates and more) when a filter, a test, a tag or a method was drawn fewer than 5 times. What
ours refuses by design, integers beyond 64 bits and complex numbers, is counted apart. --write keeps the first rows as
golden test data, a JSON line {"template", "variables", "rendered" | "error"} each.
"""
import argparse
import collections
import datetime
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jinja2  # noqa: E402
import jinja2.ext  # noqa: E402
import random_templates  # noqa: E402
from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: E402

CASES_A_TEMPLATE = 3
NOW = datetime.datetime(2026, 11, 29, 16, 20)
REFUSED = re.compile(r"64 bits|complex numbers")
ADDRESS = re.compile(r" at 0x[0-9a-f]+|<function |<built-in|<class ", re.IGNORECASE)
FILTERS = """abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape format groupby
 indent int items join last length list lower map max min pprint reject rejectattr replace reverse round safe select selectattr slice
 sort string striptags sum title tojson trim truncate unique upper urlencode wordcount wordwrap xmlattr""".split()
TESTS = """boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan gt in integer iterable le
 lessthan lower lt mapping ne none number odd sameas sequence string test true undefined upper""".split()
METHODS = """capitalize casefold center count endswith expandtabs find format format_map get index isalnum isalpha isascii isdecimal
 isdigit isidentifier islower isnumeric isprintable isspace istitle isupper items join keys ljust lower lstrip partition removeprefix
 removesuffix replace rfind rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title upper values zfill""".split()
TAGS = "if elif else for set macro call filter with print generation break continue raw recursive".split()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class Generation(jinja2.ext.Extension):
    """The `generation` tag, which only marks its body."""

    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(lineno)

    def _body(self, caller):
        return caller()


def make_environment():
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = NOW.strftime
    return environment


def reference(environment, source, cases):
    """What Jinja2 gives for each case: {"rendered"} or {"error"}; None where it shows an address or half a character."""
    answers = []
    for variables in cases:
        try:
            rendered = environment.from_string(source).render(**variables)
            rendered.encode()
            answers.append(None if ADDRESS.search(rendered) else {"rendered": rendered})
        except UnicodeEncodeError:
            answers.append(None)
        except Exception as error:  # Jinja2 lets every kind of Python's errors through
            answers.append({"error": f"{type(error).__name__}: {error}"})
    return answers


def ours(program, source, cases, folder):
    path = os.path.join(folder, "template.jinja")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(source)
    lines = "".join(json.dumps(variables) + "\n" for variables in cases)
    result = subprocess.run([program, "render", path, "--now", NOW.isoformat()], input=lines.encode(), capture_output=True, check=False)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    if result.returncode != 0 or len(answers) != len(cases):
        raise SystemExit(f"render failed with {result.returncode}: {result.stderr.decode()}\n{source}")
    return answers


def agree(want, got):
    return "error" in got if "error" in want else got.get("rendered") == want["rendered"]


def names_drawn(source):
    yield from (("filter", name) for name in re.findall(r"\|\s*(\w+)|filter\s+(\w+)|map\('(\w+)'", source) for name in name if name)
    yield from (("test", name) for name in re.findall(r"\bis\s+(?:not\s+)?(\w+)", source))
    yield from (("method", name) for name in re.findall(r"\.(\w+)\(", source))
    yield from (("tag", name) for name in re.findall(r"\b(\w+)\b", source) if name in TAGS)


def check_coverage(drawn):
    wanted = [("filter", n) for n in FILTERS] + [("test", n) for n in TESTS] + [("method", n) for n in METHODS] + [("tag", n) for n in TAGS]
    rare = [f"{kind} {name} ({drawn[kind, name]})" for kind, name in wanted if drawn[kind, name] < 5]
    if rare:
        raise SystemExit("drawn too rarely: " + ", ".join(rare))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--templates", type=int, default=2000)
    parser.add_argument("--keep", help="a folder that gets the cases that differ")
    parser.add_argument("--write", help="a file that gets golden rows")
    parser.add_argument("--rows", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    environment = make_environment()
    counts = collections.Counter()
    drawn = collections.Counter()
    golden = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.templates):
            rng = random.Random(options.seed * 1_000_003 + number)
            source = random_templates.template(rng)
            cases = [random_templates.variables(rng) for _ in range(CASES_A_TEMPLATE)]
            drawn.update(set(names_drawn(source)))
            answers = ours(options.program, source, cases, folder)
            for variables, want, got in zip(cases, reference(environment, source, cases), answers):
                if want is None or REFUSED.search(got.get("error", "")):
                    counts["left out"] += 1
                    continue
                counts["rendered" if "rendered" in want else "errors"] += 1
                if not agree(want, got):
                    counts["different"] += 1
                    print(f"template {number}: {source!r}\nJinja2: {want}\nours:   {got}\n")
                    if options.keep:
                        with open(os.path.join(options.keep, f"{options.seed}-{number}.json"), "w", encoding="utf-8") as file:
                            json.dump({"template": source, "variables": variables, "jinja2": want, "ours": got}, file)
                elif "rendered" in want or rng.random() < 0.1:
                    golden.append({"template": source, "variables": variables, **want})
    print(dict(counts))
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            for row in golden[:: max(1, len(golden) // options.rows)][: options.rows]:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    if options.templates >= 2000:
        check_coverage(drawn)
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
