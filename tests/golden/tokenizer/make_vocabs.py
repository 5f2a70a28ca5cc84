"""Trains small vocabularies with the reference libraries and writes what they say about many texts.

    pip install sentencepiece tiktoken; python make_vocabs.py

For each vocabulary <name>: <name>.model (SentencePiece) or <name>.tiktoken, and <name>.jsonl with a line a text:
{"text", "ids", "decoded"}. `decoded` is the library's own decoding of these ids.
"""
import base64, json, os, random, sys
import sentencepiece as spm
import tiktoken

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = """the of and to in a is that for it as was with be by on not he his but at are this have from or had an they
which one you were all her she there would their we him been has when who will no more if out so up said what its about
than into them can only other time new some could these two may first then do any like my now over such our man me even
most made after also well many before must through years where much your way down should because long each just those
people how too little state good very make world still see own work men day get here old between both life being under
three never know same last another while us off might great go come since against right came take used himself few house
model token server graph memory kernel budget plan layer cache engine""".split()
OTHER = ["Straße über Äpfel", "naïve café", "日本語の文章です", "私は学生です。", "中文句子在这里", "Привет мир", "как дела", "γειά σου κόσμε",
         "안녕하세요 세계", "مرحبا بالعالم", "नमस्ते दुनिया", "ﬁne ligature", "①②③ １２３", "½ cup", "e\u0301 combining", "😀 smile 🚀 rocket"]

def sentences(rng, count):
    for _ in range(count):
        words = [rng.choice(WORDS) for _ in range(rng.randint(3, 12))]
        if rng.random() < 0.3: words.insert(rng.randrange(len(words)), str(rng.randint(0, 99999)))
        if rng.random() < 0.5: words.append(rng.choice(OTHER))
        text = " ".join(words)
        yield (text[0].upper() + text[1:] + rng.choice([".", "!", "?", ", and", ";"])) if rng.random() < 0.7 else text

def texts(rng, count):
    fixed = ["", " ", "  ", "\n", " \n ", "a", " a", "a ", "  a  b  ", "\t", "Hello world", "\u3000wide\u3000space\u3000", "▁", "a▁b", "▁▁",
             "<s>", "</s>", "<unk>", "<0x41>", "<user>", "a<user>b", "<user> <user>", "\u00a0nbsp\u00a0", "\ufeffbom", "\u0000nul", "é", "e\u0301",
             "\u1e9b\u0323", "ﬃ", "㍿", "ﷺ", "각", "\u1100\u1161\u11a8", "x" * 300, " " * 50, "the" * 60, "😀" * 9, "\u0301" * 20,
             "line one\nline two\r\nline three\u2028four\u0085five", "zero\u200bwidth\u200djoin", "1234567890", "don't we'll I'VE", "\U0001f468\u200d\U0001f469\u200d\U0001f467"]
    yield from fixed
    pool = " ".join(OTHER + WORDS[:40]) + "   ▁<>'\".,!?\n\t0123456789"
    for i in range(count):
        kind = i % 4
        if kind == 0: yield " ".join(sentences(rng, rng.randint(1, 3)))
        elif kind == 1: yield "".join(rng.choice(pool) for _ in range(rng.randint(1, 40)))
        elif kind == 2:
            text = "".join(chr(rng.choice([rng.randrange(1, 0x250), rng.randrange(1, 0x3000), rng.randrange(0x3000, 0xd800), rng.randrange(0xe000, 0x20000)])) for _ in range(rng.randint(1, 12)))
            yield text
        else: yield rng.choice(["", " ", "  "]).join(rng.choice(WORDS + OTHER + ["<user>", "<s>", "▁", " ", "\n"]) for _ in range(rng.randint(1, 10)))

def write(name, encode, decode, count=160):
    rng = random.Random(name)
    with open(os.path.join(HERE, name + ".jsonl"), "w") as out:
        for text in texts(rng, count):
            ids = encode(text)
            out.write(json.dumps({"text": text, "ids": ids, "decoded": decode(ids)}, ensure_ascii=True) + "\n")

# Rules of our own for most models, because the compiled NFKC alone is 240 KB: source and target code points in hex.
RULES = {"é": "e", "e\u0301": "e", "ß": "ss", "ﬁ": "fi", "①": "1", "½": "1/2", "\u3000": " ", "\t": " ", "\n": " ", "\r\n": " ", "\u200b": "",
         "日": "nichi", "日本": "nippon", "㍿": "株式会社", "A": "a", "THE": "the"}

VARIANTS = {
    "sp_unigram": dict(model_type="unigram"),
    "sp_unigram_bytes": dict(model_type="unigram", normalization_rule_tsv=True, byte_fallback=True, user_defined_symbols=["<user>", "ing"], control_symbols=["<ctl>"]),
    "sp_unigram_plain": dict(model_type="unigram", normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
                             user_defined_symbols=["<user>"]),
    "sp_unigram_fold": dict(model_type="unigram", normalization_rule_tsv=True, treat_whitespace_as_suffix=True),
    "sp_bpe": dict(model_type="bpe", normalization_rule_tsv=True),
    "sp_bpe_bytes": dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
                         user_defined_symbols=["<user>"], allow_whitespace_only_pieces=True, pad_id=3),
    "sp_bpe_phrases": dict(model_type="bpe", normalization_rule_tsv=True, split_by_whitespace=False, add_dummy_prefix=False, control_symbols=["<ctl>"], user_defined_symbols=["<user>", "th"]),
    "sp_bpe_suffix": dict(model_type="bpe", treat_whitespace_as_suffix=True, normalization_rule_tsv=True),
}

def main():
    rng = random.Random(7)
    corpus = list(sentences(rng, 3000))
    os.chdir(HERE)
    rules = "rules.tsv"
    hexes = lambda text: " ".join(f"{ord(c):X}" for c in text)
    with open(rules, "w") as out:
        for source, target in RULES.items(): out.write(f"{hexes(source)}\t{hexes(target)}\n")
    for name, options in VARIANTS.items():
        if options.pop("normalization_rule_tsv", False): options["normalization_rule_tsv"] = rules
        prefix = name  # relative, because the models keep it
        size = 700 if options.get("byte_fallback") else 420
        spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_prefix=prefix, vocab_size=size, hard_vocab_limit=False,
                                       character_coverage=0.995, minloglevel=2, **options)
        os.remove(prefix + ".vocab")
        sp = spm.SentencePieceProcessor(model_file=prefix + ".model")
        write(name, sp.encode, sp.decode)
    os.remove(rules)

    ranks = {bytes([b]): i for i, b in enumerate(rng.sample(range(256), 256))}
    data = [bytearray(s.encode()) for s in corpus[:600]]
    words = {}
    for line in corpus[:1500]:
        for w in line.split(" "):
            key = tuple(bytes([b]) for b in (" " + w).encode())
            words[key] = words.get(key, 0) + 1
    while len(ranks) < 600:
        pairs = {}
        for w, n in words.items():
            for pair in zip(w, w[1:]): pairs[pair] = pairs.get(pair, 0) + n
        best = max(sorted(pairs), key=pairs.get)
        joined = best[0] + best[1]
        if joined not in ranks: ranks[joined] = len(ranks)
        merged = {}
        for w, n in words.items():
            out, i = [], 0
            while i < len(w):
                if i + 1 < len(w) and (w[i], w[i + 1]) == best: out.append(joined); i += 2
                else: out.append(w[i]); i += 1
            merged[tuple(out)] = merged.get(tuple(out), 0) + n
        words = merged
    with open(os.path.join(HERE, "tiktoken.tiktoken"), "wb") as out:
        for token, rank in ranks.items(): out.write(base64.b64encode(token) + b" %d\n" % rank)
    for name, pattern in PATTERNS.items():
        enc = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 600})
        write("tiktoken_" + name, enc.encode_ordinary, enc.decode, count=80)

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
KUP, KLOW = UP[:-1] + r"&&[^\p{Han}]]", LOW[:-1] + r"&&[^\p{Han}]]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k_base": LEAD + UP + "*" + LOW + "+" + CONTRACTION + "?|" + LEAD + UP + "+" + LOW + "*" + CONTRACTION + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES,
    "qwen": CONTRACTION + "|" + LEAD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES,
    "llama3": CONTRACTION + "|" + LEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES,
    "kimi-k2": r"[\p{Han}]+|" + LEAD + KUP + "*" + KLOW + "+" + CONTRACTION + "?|" + LEAD + KUP + "+" + KLOW + "*" + CONTRACTION + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES,
}

if __name__ == "__main__":
    main()
