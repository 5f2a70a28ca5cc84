"""Writes src/tokenizer/unicode_tables.inc: the character classes and mappings that the reference tokenizer really uses.

usage: python scripts/unicode_tables.py OUT        (needs the PyPI packages tokenizers and nothing else)

The reference library mixes several Unicode versions (its regular expressions, the Rust standard library, and older
crates for categories and normalization), so nothing here is taken from one database: every code point is put through
the library's own components, and what comes out is written down as runs.
"""
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BLOCK = 4096
FENCE = "\ue000"  # private use: no case, no decomposition


def blocks(points):
    for start in range(0, len(points), BLOCK):
        yield points[start:start + BLOCK]


def isolated(pre_tokenizer, points, removed):
    """The code points that pre_tokenizer takes out (removed=True) or keeps when each stands alone in a block."""
    found = set()
    for block in blocks(points):
        text = "".join(map(chr, block))
        kept = set()
        for _, (start, end) in pre_tokenizer.pre_tokenize_str(text):
            kept.update(range(start, end))
        for i, c in enumerate(block):
            if (i not in kept) == removed:
                found.add(c)
    return found


def regex_class(pattern):
    return isolated(pre_tokenizers.Split(Regex(pattern), "removed"), CODE_POINTS, True)


def slots(normalizer, points, fence):
    """What the normalizer makes of each code point, standing between two fences (a caseless inert character)."""
    result = {}
    for block in blocks([c for c in points if c != ord(fence)]):
        text = normalizer.normalize_str(fence + fence.join(map(chr, block)) + fence)
        parts = text.split(fence)
        assert len(parts) == len(block) + 2, (hex(block[0]), len(parts))
        result.update(zip(block, parts[1:-1]))
    return result


def word_characters():
    """The regex crate's \\w: what the Whitespace pre-tokenizer leaves attached to a letter."""
    found = set()
    for block in blocks(CODE_POINTS):
        text = "".join("a" + chr(c) + " " for c in block)
        joined = {end for _, (start, end) in pre_tokenizers.Whitespace().pre_tokenize_str(text) if end - start == 2}
        found.update(c for i, c in enumerate(block) if 3 * i + 2 in joined)
    return found


def flags():
    """name -> set of code points, in the order of the bits in unicode.h"""
    bert_clean = slots(normalizers.BertNormalizer(True, False, False, False), CODE_POINTS, "-")
    bert_accents = slots(normalizers.BertNormalizer(False, False, True, False), CODE_POINTS, "-")
    accents = slots(normalizers.StripAccents(), CODE_POINTS, "-")
    names = {}
    for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No"):
        names[name] = regex_class(r"\p{%s}" % name)
    names["P"] = regex_class(r"\p{P}")
    names["S"] = regex_class(r"\p{S}")
    names["Space"] = regex_class(r"\s")
    names["RegexWord"] = regex_class(r"\w")
    digits = pre_tokenizers.Digits(individual_digits=True)
    names["RustNumeric"] = single(digits)
    names["RustSpace"] = isolated(pre_tokenizers.WhitespaceSplit(), CODE_POINTS, True)
    names["RustWord"] = word_characters()
    names["BertPunctuation"] = isolated(pre_tokenizers.Punctuation("removed"), CODE_POINTS, True)
    names["BertControl"] = {c for c, s in bert_clean.items() if s == ""}
    names["NonspacingMark"] = {c for c, s in bert_accents.items() if s == ""}
    names["CombiningMark"] = {c for c, s in accents.items() if s == ""}
    assigned = isolated(pre_tokenizers.Split(Regex(r"\p{Cn}"), "removed"), CODE_POINTS, False)
    names["Recent"] = {c for c in assigned if unicodedata.category(chr(c)) == "Cn"}
    names["Alphabetic"] = regex_class("[[:alpha:]]")
    names["Upper"] = regex_class("[[:upper:]]")
    names["Lower"] = regex_class("[[:lower:]]")
    names["Assigned"] = assigned
    return names


CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co").split()
# The scripts that characters since Unicode 14 belong to, as the regular expressions name them.
SCRIPTS = ("Common Inherited Han Hiragana Katakana Latin Cyrillic Arabic Devanagari Kannada Kawi Nag_Mundari Telugu "
           "Egyptian_Hieroglyphs Khojki Lao Garay Gurung_Khema Kirat_Rai Ol_Onal Sunuwar Todhri Tulu_Tigalari "
           "Balinese Myanmar").split()


def recent_runs(recent):
    """(first, last, category, script) of the characters that PCRE2 may not know."""

    def name_of(c, names, pattern):
        for name in names:
            if pre_tokenizers.Split(Regex(pattern % name), "removed").pre_tokenize_str(chr(c)) == []:
                return name
        return ""

    runs = []
    for c in sorted(recent):
        category, script = name_of(c, CATEGORIES, r"\p{%s}"), name_of(c, SCRIPTS, r"\p{%s}")
        if runs and runs[-1][1] == c - 1 and runs[-1][2:] == [category, script]:
            runs[-1][1] = c
        else:
            runs.append([c, c, category, script])
    return runs


def single(pre_tokenizer):
    """The code points that pre_tokenizer isolates from letters on both sides."""
    found = set()
    for block in blocks(CODE_POINTS):
        text = "a" + "a".join(map(chr, block)) + "a"
        alone = {start for _, (start, end) in pre_tokenizer.pre_tokenize_str(text) if end - start == 1}
        found.update(c for i, c in enumerate(block) if 2 * i + 1 in alone and c != ord("a"))
    return found


def script_runs():
    """First code point and script number of each run; 0 is the script that goes with any other."""
    scripts = pre_tokenizers.UnicodeScripts()

    def joined(text):
        """For each position inside text, whether the characters on both sides stay together."""
        cuts = set()
        for _, (start, end) in scripts.pre_tokenize_str(text):
            cuts.update((start, end))
        return [i not in cuts for i in range(len(text) + 1)]

    any_script = set()
    for block in blocks(CODE_POINTS):
        latin = joined("a" + "".join(chr(c) + "a" for c in block))
        greek = joined("\u03b1" + "".join(chr(c) + "\u03b1" for c in block))
        any_script.update(c for i, c in enumerate(block) if latin[2 * i + 1] and greek[2 * i + 1])
    runs, representatives, last, number = [], [], None, None
    for c in CODE_POINTS:
        if c in any_script:
            this = 0
        elif last is not None and last + 1 == c and number and joined(chr(last) + chr(c))[1]:
            this = number
        else:
            probe = joined("".join(chr(r) + chr(c) for r in representatives))
            same = [i for i in range(len(representatives)) if probe[2 * i + 1]]
            this = same[0] + 1 if same else len(representatives) + 1
            if not same:
                representatives.append(c)
        if this != number:
            runs += [c, this]
            number = this
        last = c
    return runs, len(representatives)


def mapping_rows(mapping):
    rows = [[c, len(s)] + [ord(x) for x in s] for c, s in sorted(mapping.items()) if s != chr(c)]
    return [value for row in rows for value in row]


def emit(out, kind, name, values):
    out.write("constexpr %s %s[] = {\n" % (kind, name))
    line = "   "
    for value in values:
        word = " %#x," % value if value > 9 else " %d," % value
        if len(line) + len(word) > 100:
            out.write(line + "\n")
            line = "   "
        line += word
    out.write(line + "\n};\n\n")


def main():
    names = flags()
    bits = {}
    for bit, points in enumerate(names.values()):
        for c in points:
            bits[c] = bits.get(c, 0) | 1 << bit
    runs, last = [], None
    for c in range(0x110000):
        value = bits.get(c, 0)
        if value != last:
            runs += [c, value]
            last = value

    lower = slots(normalizers.Lowercase(), CODE_POINTS, FENCE)
    hangul = lambda c: 0xAC00 <= c <= 0xD7A3
    nfd = {c: s for c, s in slots(normalizers.NFD(), CODE_POINTS, FENCE).items() if not hangul(c)}
    nfkd = {c: s for c, s in slots(normalizers.NFKD(), CODE_POINTS, FENCE).items() if s != nfd.get(c, s)}
    nfc = slots(normalizers.NFC(), CODE_POINTS, FENCE)
    compose = []
    for c, s in sorted(nfd.items()):
        if len(s) > 1 and nfc[c] == chr(c):
            first = normalizers.NFC().normalize_str(s[:-1])
            assert len(first) == 1, hex(c)
            compose += [ord(first), ord(s[-1]), c]
    # A mark with a combining class moves in front of U+0345, the only character of class 240.
    moved = {}
    for block in blocks([c for c in CODE_POINTS if unicodedata.combining(chr(c))]):
        for c in block:
            if c == 0x345 or normalizers.NFD().normalize_str("a\u0345" + chr(c)) != "a\u0345" + chr(c):
                moved[c] = unicodedata.combining(chr(c))
    classes, last = [], None
    for c in range(0x110000):
        value = moved.get(c, 0)
        if value != last:
            classes += [c, value]
            last = value

    recent = recent_runs(names["Recent"])
    scripts, script_count = script_runs()

    with open(sys.argv[1], "w") as out:
        out.write("// Made by scripts/unicode_tables.py, which asks the reference tokenizer; do not edit.\n")
        out.write("// clang-format off\n\n")
        out.write("// First code point of a run and its class bits (unicode.h), in turn.\n")
        emit(out, "std::uint32_t", "kClassRuns", runs)
        out.write("// First code point of a run and its canonical combining class, in turn.\n")
        emit(out, "std::uint32_t", "kCombiningRuns", classes)
        out.write("// Code point, count, then so many code points: full mappings.\n")
        emit(out, "std::uint32_t", "kLowercase", mapping_rows(lower))
        emit(out, "std::uint32_t", "kCanonical", mapping_rows(nfd))
        out.write("// Only where it differs from the canonical one.\n")
        emit(out, "std::uint32_t", "kCompatibility", mapping_rows(nfkd))
        out.write("// First, second, composed.\n")
        emit(out, "std::uint32_t", "kCompositions", compose)
        out.write("// First code point of a run and its script as UnicodeScripts numbers it, in turn.\n")
        emit(out, "std::uint16_t", "kScriptNumbers", scripts[1::2])
        emit(out, "std::uint32_t", "kScriptFirsts", scripts[0::2])
        out.write("constexpr RecentRun kRecentRuns[] = {\n")
        for first, last, category, script in recent:
            out.write('    {%#x, %#x, "%s", "%s"},\n' % (first, last, category, script))
        out.write("};\n\n")
        out.write("// clang-format on\n")
    for name, points in names.items():
        print(name, len(points))
    print("scripts", script_count, len(scripts) // 2)
    print("runs", len(runs) // 2, "lower", len(lower), "compose", len(compose) // 3, "classes", len(classes) // 2)


main()
