"""Writes a small vocabulary in PLaMo's notation and what llama.cpp, whose `plamo2` vocabularies are the same, makes of texts.

    pip install gguf llama-cpp-python sentencepiece; python make_plamo.py

plamo_rows.jsonl is a tokenizer.jsonl; plamo.jsonl has {"text", "ids", "decoded"} a line.
"""
import json, os, random, tempfile
import gguf
import sentencepiece as spm
from llama_cpp import Llama
from make_vocabs import HERE, texts

def main():
    sp = spm.SentencePieceProcessor(model_file=os.path.join(HERE, "sp_unigram.model"))
    rows = [["<|plamo:unk|>", 0.0, "UNKNOWN"], ["<|plamo:bos|>", 0.0, "CONTROL"], ["<|plamo:eos|>", 0.0, "CONTROL"], ["<|plamo:pad|>", 0.0, "CONTROL"]]
    rows += [[f"<0x{b:02X}>", 0.0, "BYTE"] for b in range(256)]
    seen = {row[0] for row in rows}
    for i in range(sp.get_piece_size()):
        piece = sp.id_to_piece(i).replace("\u2581", " ")
        if sp.is_control(i) or sp.is_unknown(i) or piece in seen: continue
        seen.add(piece); rows.append([piece, round(sp.get_score(i), 4), "NORMAL"])
    # Equal costs: the longest piece first.
    for piece, score in [("zq", -2.0), ("zqx", -3.0), ("x", -1.0), ("qx", -2.0), ("z", -1.0), ("\u65e5\u672c", -5.0), ("\u8a9e", -6.5)]:
        if piece not in seen: seen.add(piece); rows.append([piece, score, "NORMAL"])
    with open(os.path.join(HERE, "plamo_rows.jsonl"), "w") as out:
        for row in rows: out.write(json.dumps(row, ensure_ascii=False) + "\n")

    types = {"NORMAL": 1, "UNKNOWN": 2, "CONTROL": 3, "BYTE": 6}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plamo.gguf")
        writer = gguf.GGUFWriter(path, "llama")
        for key in ("block_count", "context_length", "embedding_length", "feed_forward_length", "head_count"): getattr(writer, "add_" + key)(8)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_tokenizer_model("plamo2"); writer.add_tokenizer_pre("default")
        writer.add_token_list([r[0] for r in rows]); writer.add_token_scores([r[1] for r in rows]); writer.add_token_types([types[r[2]] for r in rows])
        writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.close()
        model = Llama(path, vocab_only=True, verbose=False)
        rng = random.Random(11)
        with open(os.path.join(HERE, "plamo.jsonl"), "w") as out:
            for text in list(texts(rng, 120)) + ["zqx", "zzqxx", "\u65e5\u672c\u8a9e"]:
                if text.startswith("\ufeff") or "<|" in text: continue  # llama.cpp drops the first; control rows match there
                ids = model.tokenize(text.encode(), add_bos=False, special=False) if text else []
                decoded = b"".join(bytes([int(rows[i][0][3:5], 16)]) if rows[i][2] == "BYTE" else rows[i][0].encode() for i in ids)
                out.write(json.dumps({"text": text, "ids": ids, "decoded": decoded.decode("utf-8", "replace")}) + "\n")

if __name__ == "__main__":
    main()
