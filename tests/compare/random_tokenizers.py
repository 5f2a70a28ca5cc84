"""Makes random tokenizer.json files over the whole format, and texts that reach their corners."""
import base64
import json
import struct

from tokenizers import Tokenizer

# --- texts -----------------------------------------------------------------------------------------------------------

WORDS = ("the of Hello world don't WE'LL I'm it's they've foo bar Foo_bar x86 naïve café Straße İstanbul ﬁne ǅ ſo "
         "def return( ) { } == != // /* */ <s> </s> [CLS] [MASK] <pad> ▁the Ġthe ##ing </w> | <0x41> <0xE4> http://a.b/c?d=1").split()
RANGES = [
    (0x20, 0x7E), (0x20, 0x7E), (0x20, 0x7E), (0x0, 0x20), (0x7F, 0xFF), (0x100, 0x24F), (0x250, 0x2FF), (0x300, 0x36F),
    (0x300, 0x345), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
    (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x20FF), (0x2100, 0x21FF), (0x2460, 0x24FF),
    (0x2580, 0x2BFF), (0x3000, 0x30FF), (0x3000, 0x30FF), (0x3200, 0x33FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0x4E00, 0x4E80), (0x9FA0, 0x9FFF), (0xA640, 0xA69F), (0xAC00, 0xD7A3), (0xE000, 0xE010), (0xF900, 0xFAFF),
    (0xFB00, 0xFDFF), (0xFE00, 0xFEFF), (0xFF00, 0xFFFF), (0x10000, 0x1FFFF), (0x1D100, 0x1D1FF), (0x1D400, 0x1D7FF),
    (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF), (0x20000, 0x323AF), (0xE0100, 0xE01EF), (0x10FFF0, 0x10FFFF),
    (0x0897, 0x0898), (0x11F00, 0x11F60), (0x1E4D0, 0x1E4FF), (0x16D40, 0x16D7F),
]
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2009", "\u0085", "\u2028", "\u180e",
          "\u200b", "\ufeff"]


def char(rng):
    first, last = rng.choice(RANGES)
    while True:
        c = rng.randint(first, last)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def text(rng, tokens):
    parts = []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 8, 13))):
        kind = rng.randrange(12)
        if kind < 3:
            parts.append(rng.choice(WORDS))
        elif kind < 5:
            parts.append("".join(char(rng) for _ in range(rng.randint(1, 6))))
        elif kind < 6:
            first, last = rng.choice(RANGES)
            parts.append("".join(chr(c) for c in (rng.randint(first, last) for _ in range(rng.randint(1, 8)))
                                 if not 0xD800 <= c < 0xE000))
        elif kind < 9:
            parts.append(rng.choice(SPACES))
        elif kind < 10:
            parts.append("".join(rng.choice("0123456789٣४Ⅷ²½") for _ in range(rng.randint(1, 7))))
        elif kind < 11 and tokens:
            parts.append(rng.choice(tokens))
        else:
            parts.append(rng.choice("aAéßſK'.-_,中あ가e\u0301") * rng.randint(1, 60))
        if rng.random() < 0.5:
            parts.append(" ")
    return "".join(parts)


# --- components ------------------------------------------------------------------------------------------------------

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
REGEXES = [
    r"\s+", r"\S+", r"\w+|[^\w\s]+", r"\p{L}+", r"\p{N}{1,3}", r"\p{Lu}", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\d", r"\D+", r"[a-z&&[^aeiou]]+",
    r"(?i:the|of|k)", r"(?i)[a-f]+s", r"\bfoo\b", r"\B", r"^", r"$", r"^\s*|\s*$", r"\s+(?!\S)|\s+", r"(?<=\d)(?=\D)", r"(?<!a)b",
    r"a*", r"x?", r"[\p{Han}\p{Hiragana}]+", r"\p{Katakana}+", r"[[:alpha:]]+", r"[[:punct:]]", r"[^[:space:]]", r"\p{^L}+", r"\P{L}",
    r"[\P{L}]", r"[^\W\d]+", r"(.)\1", r"(?m:.+)", r".+", r"\h+", r"\R", r"[一-龥぀-ゟ゠-ヿ]+", r"'s|'t|'re|'ve|'m|'ll|'d", r"\u3042|\x41",
    r"(?<word>\w)\k<word>", r"\p{Punct}", r"\p{Alpha}+", r"\p{M}+", r"\p{S}", r"(?:ab|a)(?>b|c)?", r"a{2}", r"a{,3}?", r"(?:a{2})+",
    r"\A.", r".\z", r"[-_.]", r"[\[\]{}()]", r"\p{Sc}|\p{Sm}|\p{Pd}|\p{Zs}", r"\p{Greek}|\p{Cyrillic}|\p{Arabic}", "(?x: \\d + # digits\n )",
]
MATCH_NOTHING_TOO = [r"\B", r"^", r"$", r"^\s*|\s*$", r"a*", r"x?", r"a{,3}?"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
KNOWN = [
    GPT2,
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?"
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|"
    "\\s+(?!\\S)|\\s+",
]
LITERALS = [" ", " ", "a", "", "▁", "the", "é", "中", "\n", ".", "'", "##", "e\u0301", "A", "ß"]
CONTENTS = ["", " ", "▁", "x", "ab", "é", "中文", "  ", "e\u0301", "<0x41>"]

NORMALIZERS = ("NFC NFD NFKC NFKD Nmt Lowercase Strip StripAccents Prepend Replace Precompiled BertNormalizer ByteLevel Sequence").split()
PRE_TOKENIZERS = ("BertPreTokenizer ByteLevel CharDelimiterSplit Metaspace Whitespace WhitespaceSplit Punctuation Sequence Split "
                  "Digits UnicodeScripts FixedLength").split()
POST_PROCESSORS = "BertProcessing RobertaProcessing ByteLevel TemplateProcessing Sequence".split()
DECODERS = "ByteLevel Replace WordPiece ByteFallback Fuse Strip Metaspace BPEDecoder CTC Sequence".split()
MODELS = "BPE Unigram WordPiece WordLevel".split()
FLAGS = ("bpe:dropout=0 bpe:unk bpe:no unk bpe:fuse_unk bpe:byte_fallback bpe:some bytes bpe:ignore_merges bpe:prefix bpe:suffix "
         "bpe:old merges,unigram:unk_id,unigram:no unk_id,unigram:byte_fallback,wordpiece:short words,wordpiece:no unk,"
         "wordlevel:no unk,added:single_word,added:lstrip,added:rstrip,added:normalized,added:special,truncation,padding,"
         "metaspace:first,metaspace:never,metaspace:always,metaspace:no split,metaspace:other,bytelevel:prefix space,"
         "bytelevel:no regex,split:literal,split:regex,split:known,split:invert,replace:literal,replace:regex,"
         "digits:individual,digits:together,bert:clean_text,bert:chinese,bert:strip_accents=None,bert:lowercase,strip:left,strip:right,"
         "wordpiece decoder:cleanup,ctc:cleanup").replace(" bpe:", ",bpe:").split(",")
OPTIONS = (["normalizer " + n for n in NORMALIZERS] + ["pre_tokenizer " + n for n in PRE_TOKENIZERS] +
           ["post_processor " + n for n in POST_PROCESSORS] + ["decoder " + n for n in DECODERS] + ["model " + n for n in MODELS] +
           ["split " + b for b in BEHAVIORS] + ["punctuation " + b for b in BEHAVIORS] + FLAGS)


class Maker:
    def __init__(self, rng, drawn):
        self.rng, self.drawn = rng, drawn

    def flag(self, name, chance=0.5):
        value = self.rng.random() < chance
        if value:
            self.drawn[name] += 1
        return value

    def pattern(self, name):
        kinds = ["literal", "regex"] + (["known"] if name == "split" else [])
        kind = self.rng.choice(kinds)
        self.drawn["%s:%s" % (name, kind)] += 1
        if kind == "literal":
            return {"String": self.rng.choice(LITERALS)}
        return {"Regex": self.rng.choice(REGEXES if kind == "regex" else KNOWN)}

    def normalizer(self, depth=0):
        kind = self.rng.choice(NORMALIZERS if depth < 2 else NORMALIZERS[:-1])
        self.drawn["normalizer " + kind] += 1
        result = {"type": kind}
        if kind == "Strip":
            result["strip_left"] = self.flag("strip:left")
            result["strip_right"] = self.flag("strip:right")
        elif kind == "Prepend":
            result["prepend"] = self.rng.choice(["▁", " ", "x", "ab"])
        elif kind == "Replace":
            result["pattern"] = self.pattern("replace")
            result["content"] = self.rng.choice(CONTENTS)
            # Text put in before the first character has no place in the original; steps after that double it or panic.
            if result["pattern"].get("Regex") in MATCH_NOTHING_TOO or result["pattern"].get("String") == "":
                result["content"] = ""
        elif kind == "Precompiled":
            result["precompiled_charsmap"] = charsmap(self.rng)
        elif kind == "BertNormalizer":
            result["clean_text"] = self.flag("bert:clean_text")
            result["handle_chinese_chars"] = self.flag("bert:chinese")
            result["strip_accents"] = None if self.flag("bert:strip_accents=None") else self.rng.random() < 0.5
            result["lowercase"] = self.flag("bert:lowercase")
        elif kind == "Sequence":
            result["normalizers"] = [self.normalizer(depth + 1) for _ in range(self.rng.randrange(4))]
        return result

    def metaspace(self):
        result = {"type": "Metaspace", "replacement": "▁"}
        if self.flag("metaspace:other", 0.15):
            result["replacement"] = self.rng.choice("_ x中")
        scheme = self.rng.choice(("first", "never", "always"))
        self.drawn["metaspace:" + scheme] += 1
        if scheme != "always" or self.rng.random() < 0.7:
            result["prepend_scheme"] = scheme
        if self.flag("metaspace:no split", 0.4):
            result["split"] = False
        return result

    def pre_tokenizer(self, depth=0):
        kind = self.rng.choice(PRE_TOKENIZERS + ["Split", "Metaspace", "Punctuation"] if depth < 2 else
                               [p for p in PRE_TOKENIZERS if p != "Sequence"])
        self.drawn["pre_tokenizer " + kind] += 1
        result = {"type": kind}
        if kind == "ByteLevel":
            result["add_prefix_space"] = self.flag("bytelevel:prefix space")
            result["trim_offsets"] = self.rng.random() < 0.5
            if self.flag("bytelevel:no regex", 0.4):
                result["use_regex"] = False
        elif kind == "CharDelimiterSplit":
            result["delimiter"] = self.rng.choice(" a-▁中\n")
        elif kind == "Metaspace":
            result = self.metaspace()
        elif kind == "Punctuation":
            result["behavior"] = self.rng.choice(BEHAVIORS)
            self.drawn["punctuation " + result["behavior"]] += 1
        elif kind == "Sequence":
            result["pretokenizers"] = [self.pre_tokenizer(depth + 1) for _ in range(self.rng.randrange(4))]
        elif kind == "Split":
            result["pattern"] = self.pattern("split")
            result["behavior"] = self.rng.choice(BEHAVIORS)
            self.drawn["split " + result["behavior"]] += 1
            result["invert"] = self.flag("split:invert", 0.3)
        elif kind == "Digits":
            individual = self.rng.random() < 0.5
            self.drawn["digits:individual" if individual else "digits:together"] += 1
            result["individual_digits"] = individual
        elif kind == "FixedLength":
            result["length"] = self.rng.randint(1, 9)
        return result

    def post_processor(self, depth=0):
        kind = self.rng.choice(POST_PROCESSORS if depth < 2 else POST_PROCESSORS[:-1])
        self.drawn["post_processor " + kind] += 1
        result = {"type": kind}
        if kind in ("BertProcessing", "RobertaProcessing"):
            result["sep"] = ["[SEP]", self.rng.randrange(20)]
            result["cls"] = ["[CLS]", self.rng.randrange(20)]
            if kind == "RobertaProcessing":
                result["trim_offsets"] = self.rng.random() < 0.5
                result["add_prefix_space"] = self.rng.random() < 0.5
        elif kind == "ByteLevel":
            result.update(add_prefix_space=self.rng.random() < 0.5, trim_offsets=self.rng.random() < 0.5, use_regex=True)
        elif kind == "TemplateProcessing":
            names = ["[CLS]", "[SEP]", "<x>"]

            def special():
                return {"SpecialToken": {"id": self.rng.choice(names), "type_id": 0}}

            def sequence(name):
                return {"Sequence": {"id": name, "type_id": 0}}

            def around(*middle):
                pieces = []
                for piece in middle:
                    pieces += [special() for _ in range(self.rng.randrange(3))] + [piece]
                return pieces + [special() for _ in range(self.rng.randrange(3))]

            result["single"] = around(*[sequence("A")] * self.rng.choice((1, 1, 1, 2)))
            result["pair"] = around(sequence("A"), sequence("B"))
            result["special_tokens"] = {
                n: {"id": n, "ids": [self.rng.randrange(30) for _ in range(k)], "tokens": [n] * k}
                for n in names for k in [self.rng.choice((1, 1, 2))]}
        elif kind == "Sequence":
            result["processors"] = [self.post_processor(depth + 1) for _ in range(self.rng.randrange(3))]
        return result

    def decoder(self, depth=0):
        kind = self.rng.choice(DECODERS if depth < 2 else DECODERS[:-1])
        self.drawn["decoder " + kind] += 1
        result = {"type": kind}
        if kind == "ByteLevel":
            result.update(add_prefix_space=True, trim_offsets=True, use_regex=True)
        elif kind == "Replace":
            result["pattern"] = self.pattern("replace")
            result["content"] = self.rng.choice(CONTENTS)
        elif kind == "WordPiece":
            result["prefix"] = self.rng.choice(["##", "##", "", "▁"])
            result["cleanup"] = self.flag("wordpiece decoder:cleanup")
        elif kind == "Strip":
            result["content"] = self.rng.choice(" ▁ae")
            result["start"], result["stop"] = self.rng.randrange(3), self.rng.randrange(3)
        elif kind == "Metaspace":
            result = self.metaspace()
        elif kind == "BPEDecoder":
            result["suffix"] = self.rng.choice(["</w>", "</w>", "", "e"])
        elif kind == "CTC":
            result["pad_token"] = self.rng.choice(["<pad>", "a", ""])
            result["word_delimiter_token"] = self.rng.choice(["|", " ", "e"])
            result["cleanup"] = self.flag("ctc:cleanup")
        elif kind == "Sequence":
            result["decoders"] = [self.decoder(depth + 1) for _ in range(self.rng.randrange(4))]
        return result

    def added_tokens(self):
        contents = ["<s>", "</s>", "[CLS]", "[MASK]", "<pad>", "foo", "bar", "Foo", "the", " ", "  ", "é", "中", "a", "\n", "ﬁ", "<|x|>", "▁▁",
                    "x86", "'s", "e\u0301", "İ", "don't"]
        tokens = []
        for i, content in enumerate(self.rng.sample(contents, self.rng.choice((0, 1, 3, 6)))):
            token = {"id": 1000 + i, "content": content}
            for name, chance in (("single_word", 0.3), ("lstrip", 0.3), ("rstrip", 0.3), ("normalized", 0.4), ("special", 0.5)):
                token[name] = self.flag("added:" + name, chance)
            tokens.append(token)
        return tokens

    # --- models: made for the pieces that the other parts cut sample texts into -------------------------------------

    def bpe(self, pieces):
        rng = self.rng
        prefix = rng.choice(["##", "_", ""]) if self.flag("bpe:prefix", 0.2) else None
        suffix = rng.choice(["</w>", "E", ""]) if self.flag("bpe:suffix", 0.2) else None

        def symbols(piece):
            chars = list(piece)
            return [(prefix or "" if i else "") + c + (suffix or "" if i + 1 == len(chars) else "") for i, c in enumerate(chars)]

        words = [symbols(p) for p in pieces]
        known = sorted({s for w in words for s in w})
        if rng.random() < 0.5:
            known = [s for s in known if rng.random() < 0.85]
        vocab = list(known)
        merges = []
        words = [[s if s in set(known) else None for s in w] for w in words]
        for _ in range(rng.choice((0, 10, 60, 200))):
            word = rng.choice(words) if words else []
            places = [i for i in range(len(word) - 1) if word[i] is not None and word[i + 1] is not None]
            if not places:
                continue
            i = rng.choice(places)
            left, right = word[i], word[i + 1]
            joined = left + right[len(prefix or ""):]
            if len(right) < len(prefix or "") or (left, right) in merges:
                continue
            merges.append((left, right))
            if joined not in vocab:
                vocab.append(joined)
            for w in words:
                j = 0
                while j + 1 < len(w):
                    if w[j] == left and w[j + 1] == right:
                        w[j:j + 2] = [joined]
                    j += 1
        rng.shuffle(merges)
        if rng.random() < 0.3 and pieces:
            vocab += [p for p in rng.sample(pieces, min(5, len(pieces))) if p not in vocab]
        model = {"type": "BPE", "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix,
                 "dropout": 0.0 if self.flag("bpe:dropout=0", 0.1) else None}
        if rng.random() < 0.05:
            del model["type"]
        if self.flag("bpe:unk", 0.6):
            model["unk_token"] = "<unk>"
            if rng.random() < 0.95:
                vocab.append("<unk>")
        else:
            self.drawn["bpe:no unk"] += 1
            model["unk_token"] = None
        model["fuse_unk"] = self.flag("bpe:fuse_unk")
        model["byte_fallback"] = self.flag("bpe:byte_fallback")
        if model["byte_fallback"] and rng.random() < 0.9:
            some = self.flag("bpe:some bytes", 0.3)
            vocab += ["<0x%02X>" % b for b in range(256) if not some or rng.random() < 0.7]
        model["ignore_merges"] = self.flag("bpe:ignore_merges", 0.3)
        rng.shuffle(vocab)
        model["vocab"] = {t: i for i, t in enumerate(dict.fromkeys(vocab))}
        old = not any(" " in a or " " in b or not a or not b for a, b in merges) and self.flag("bpe:old merges", 0.3)
        model["merges"] = [a + " " + b for a, b in merges] if old else [[a, b] for a, b in merges]
        return model

    def substrings(self, pieces, count):
        rng, found = self.rng, []
        for _ in range(count):
            piece = rng.choice(pieces)
            begin = rng.randrange(len(piece))
            found.append(piece[begin:begin + rng.choice((1, 1, 2, 3, 5, 9))])
        return found

    def unigram(self, pieces):
        rng = self.rng
        tokens = sorted({c for p in pieces for c in p if rng.random() < 0.9})
        if pieces:
            tokens += self.substrings(pieces, rng.choice((5, 50, 150)))
        tokens = ["<unk>"] + list(dict.fromkeys(tokens))
        model = {"type": "Unigram", "unk_id": 0}
        if not self.flag("unigram:unk_id", 0.85):
            self.drawn["unigram:no unk_id"] += 1
            model["unk_id"] = None
        model["byte_fallback"] = self.flag("unigram:byte_fallback", 0.4)
        if model["byte_fallback"]:
            tokens += ["<0x%02X>" % b for b in range(256) if b % 7 or rng.random() < 0.8]
        scores = [rng.choice((-1.0, -2.5, rng.uniform(-12, 0), rng.uniform(-12, 0), rng.uniform(-1, 3))) for _ in tokens]
        model["vocab"] = [[t, s] for t, s in zip(tokens, scores)]
        return model

    def wordpiece(self, pieces):
        rng = self.rng
        prefix = rng.choice(["##", "##", "", "_"])
        tokens = []
        if pieces:
            for s in sorted({c for p in pieces for c in p}) + self.substrings(pieces, 150):
                tokens += [s, prefix + s] if rng.random() < 0.8 else []
        short = self.flag("wordpiece:short words", 0.3)
        unk = [] if self.flag("wordpiece:no unk", 0.1) else ["[UNK]"]
        tokens = list(dict.fromkeys(unk + tokens))
        rng.shuffle(tokens)
        return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": rng.randint(1, 6) if short else 100, "vocab": {t: i for i, t in enumerate(tokens)}}

    def wordlevel(self, pieces):
        tokens = [p for p in dict.fromkeys(pieces) if self.rng.random() < 0.8]
        if not self.flag("wordlevel:no unk", 0.15):
            tokens.append("<unk>")
        return {"type": "WordLevel", "unk_token": "<unk>", "vocab": {t: i for i, t in enumerate(dict.fromkeys(tokens))}}


def charsmap(rng):
    """A compiled rule set as SentencePiece writes it: a double array over UTF-8 and the replacements."""
    rules = {}
    for _ in range(rng.randint(1, 40)):
        key = "".join(rng.choice([char(rng), rng.choice("aeéﬁＡ①e\u0301\u200d中ß\u00a0")]) for _ in range(rng.choice((1, 1, 1, 2, 3))))
        if "\0" not in key:
            rules[key.encode()] = rng.choice(["", " ", "a", "fi", "1", "é", "中文", "e\u0301", key[:1]])
    if rng.random() < 0.5:
        rules["a".encode()] = "A"
    texts, offsets = b"", {}
    for value in sorted(set(rules.values())):
        if "\0" in value:
            continue
        offsets[value] = len(texts)
        texts += value.encode() + b"\0"
    tree = {}
    for key, value in rules.items():
        if value not in offsets:
            continue
        node = tree
        for byte in key:
            node = node.setdefault(byte, {})
        node["value"] = offsets[value]
    units, used = [0] * 256, {0}

    def place(index, node):
        labels = [b for b in node if b != "value"] + ([0] if "value" in node else [])
        if not labels:
            return
        base = 0
        while any(base ^ label in used for label in labels):
            base += 1
        while len(units) <= base | 255:
            units.extend([0] * 256)
        used.update(base ^ label for label in labels)
        units[index] |= (index ^ base) << 10 | (256 if "value" in node else 0)
        if "value" in node:
            units[base] = node["value"] | 1 << 31
        for byte, child in node.items():
            if byte != "value":
                units[base ^ byte] |= byte
                place(base ^ byte, child)

    place(0, tree)
    trie = struct.pack("<%dI" % len(units), *units)
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + texts).decode()


def component(spec, kind):
    """The library's own component of that JSON, to cut the samples with."""
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
             "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}
    whole[kind] = spec
    return getattr(Tokenizer.from_str(json.dumps(whole)), kind)


def cut(spec, samples):
    """The pieces that reach the model."""
    normalizer = component(spec["normalizer"], "normalizer") if spec["normalizer"] else None
    pre_tokenizer = component(spec["pre_tokenizer"], "pre_tokenizer") if spec["pre_tokenizer"] else None
    pieces = []
    for sample in samples:
        try:
            normal = normalizer.normalize_str(sample) if normalizer else sample
            pieces += [p for p, _ in pre_tokenizer.pre_tokenize_str(normal)] if pre_tokenizer else [normal]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
    return [p for p in pieces if p]


def distinct(tokens, normalizer):
    """Without those that are the same once normalized (which of them the reference finds depends on chance) and those that
    are empty then (the reference finds them between any two bytes, and mostly panics)."""
    normalize = component(normalizer, "normalizer").normalize_str if normalizer else lambda s: s
    kept = {}
    for token in tokens:
        try:
            form = normalize(token["content"]) if token["normalized"] else token["content"]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        if form:
            kept.setdefault((token["normalized"], form), token)
    return list(kept.values())


def make(rng, drawn, count):
    """A random tokenizer.json and `count` texts for it. `drawn` counts what was chosen."""
    maker = Maker(rng, drawn)
    spec = {"version": "1.0", "truncation": None, "padding": None}
    if maker.flag("truncation", 0.1):
        spec["truncation"] = {"direction": "Right", "max_length": rng.randint(1, 9), "strategy": "LongestFirst", "stride": 0}
    if maker.flag("padding", 0.1):
        spec["padding"] = {"strategy": {"Fixed": 12}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
                           "pad_token": "<pad>"}
    spec["added_tokens"] = maker.added_tokens()
    spec["normalizer"] = maker.normalizer() if rng.random() < 0.7 else None
    spec["pre_tokenizer"] = maker.pre_tokenizer() if rng.random() < 0.8 else None
    spec["post_processor"] = maker.post_processor() if rng.random() < 0.6 else None
    spec["decoder"] = maker.decoder() if rng.random() < 0.85 else None
    spec["added_tokens"] = distinct(spec["added_tokens"], spec["normalizer"])
    contents = [t["content"] for t in spec["added_tokens"]]
    texts = [text(rng, contents) for _ in range(count)]
    pieces = cut(spec, texts[:count // 2])
    kind = rng.choice(("BPE", "BPE", "BPE", "Unigram", "WordPiece", "WordLevel"))
    drawn["model " + kind] += 1
    spec["model"] = {"BPE": maker.bpe, "Unigram": maker.unigram, "WordPiece": maker.wordpiece, "WordLevel": maker.wordlevel}[kind](pieces)
    return spec, texts
