// The reader of tokenizer.model: protobuf's wire format, and of its messages only the fields that
// matter here.
#include <cstring>
#include <optional>

#include "tokenizer/sentencepiece.h"

namespace tonnage {
namespace {

enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType type = kVarint;
  std::uint64_t number_value = 0;  // kVarint, kFixed32, kFixed64
  std::string_view bytes;          // kBytes

  std::int64_t AsInt() const { return static_cast<std::int32_t>(number_value); }
  bool AsBool() const { return number_value != 0; }
  float AsFloat() const {
    const auto bits = static_cast<std::uint32_t>(number_value);
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
};

// Walks the fields of one message. `start` is where the message lies in the file, for errors.
class FieldReader {
 public:
  FieldReader(std::string_view message, std::size_t start) : message_(message), start_(start) {}

  // The next field, or nothing at the end.
  Result<std::optional<Field>> Next() {
    if (at_ == message_.size()) return std::optional<Field>();
    Field field;
    ASSIGN_OR_RETURN(const std::uint64_t tag, Varint());
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    switch (field.type) {
      case kVarint: {
        ASSIGN_OR_RETURN(field.number_value, Varint());
        break;
      }
      case kFixed64:
      case kFixed32: {
        const std::size_t size = field.type == kFixed64 ? 8 : 4;
        ASSIGN_OR_RETURN(const std::string_view bytes, Take(size));
        std::memcpy(&field.number_value, bytes.data(), size);
        break;
      }
      case kBytes: {
        ASSIGN_OR_RETURN(const std::uint64_t size, Varint());
        ASSIGN_OR_RETURN(field.bytes, Take(size));
        break;
      }
      default:
        return Unreadable("byte {}: field {} has wire type {}: not a SentencePiece model?",
                          start_ + at_, field.number, tag & 7);
    }
    return std::optional<Field>(field);
  }

  // Where the bytes of the field just read begin in the file.
  std::size_t BytesStart(const Field& field) const { return start_ + at_ - field.bytes.size(); }

 private:
  Result<std::string_view> Take(std::uint64_t size) {
    if (size > message_.size() - at_) {
      return Unreadable("byte {}: {} bytes are announced, {} are left: cut short?", start_ + at_,
                        size, message_.size() - at_);
    }
    const std::string_view bytes = message_.substr(at_, size);
    at_ += size;
    return bytes;
  }

  Result<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == message_.size()) {
        return Unreadable("byte {}: ends within a number: cut short?", start_ + at_);
      }
      const auto byte = static_cast<std::uint8_t>(message_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return Unreadable("byte {}: a number of more than ten bytes", start_ + at_);
  }

  std::string_view message_;
  std::size_t start_;
  std::size_t at_ = 0;
};

// Calls visit(field, reader) -> Status for each field of the message.
template <typename Visit>
Status ForEachField(std::string_view message, std::size_t start, Visit visit) {
  FieldReader reader(message, start);
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Field> field, reader.Next());
    if (!field) return {};
    RETURN_IF_ERROR(visit(*field, reader.BytesStart(*field)));
  }
}

Status ReadPiece(std::string_view message, std::size_t start, SentencePieceVocab& vocab) {
  VocabPiece piece;
  RETURN_IF_ERROR(ForEachField(message, start, [&](const Field& field, std::size_t at) -> Status {
    if (field.number == 1 && field.type == kBytes) piece.text = field.bytes;
    if (field.number == 2 && field.type == kFixed32) piece.score = field.AsFloat();
    if (field.number == 3 && field.type == kVarint) {
      if (field.AsInt() < 1 || field.AsInt() > 6) {
        return Unreadable("byte {}: piece {} has the unknown type {}", at, vocab.pieces.size(),
                          field.AsInt());
      }
      piece.type = static_cast<VocabPieceType>(field.AsInt());
    }
    return {};
  }));
  vocab.pieces.push_back(std::move(piece));
  return {};
}

Status ReadTrainerSpec(std::string_view message, std::size_t start, SentencePieceVocab& vocab) {
  return ForEachField(message, start, [&](const Field& field, std::size_t) -> Status {
    if (field.type == kBytes && field.number == 44) vocab.unk_surface = field.bytes;
    if (field.type != kVarint) return {};
    switch (field.number) {
      case 3:
        if (field.AsInt() == 1) {
          vocab.algorithm = SentencePieceVocab::Algorithm::kUnigram;
        } else if (field.AsInt() == 2) {
          vocab.algorithm = SentencePieceVocab::Algorithm::kBpe;
        } else {
          return Unsupported("SentencePiece model type {}: only unigram and bpe can be run",
                             field.AsInt() == 3   ? "word"
                             : field.AsInt() == 4 ? "char"
                                                  : std::to_string(field.AsInt()));
        }
        break;
      case 24:
        vocab.treat_whitespace_as_suffix = field.AsBool();
        break;
      case 35:
        vocab.byte_fallback = field.AsBool();
        break;
      case 40:
        vocab.unk_id = static_cast<int>(field.AsInt());
        break;
      case 41:
        vocab.bos_id = static_cast<int>(field.AsInt());
        break;
      case 42:
        vocab.eos_id = static_cast<int>(field.AsInt());
        break;
      case 43:
        vocab.pad_id = static_cast<int>(field.AsInt());
        break;
      default:
        break;
    }
    return {};
  });
}

Status ReadNormalizerSpec(std::string_view message, std::size_t start, SentencePieceVocab& vocab) {
  return ForEachField(message, start, [&](const Field& field, std::size_t) -> Status {
    if (field.number == 2 && field.type == kBytes) vocab.precompiled_charsmap = field.bytes;
    if (field.type != kVarint) return {};
    if (field.number == 3) vocab.add_dummy_prefix = field.AsBool();
    if (field.number == 4) vocab.remove_extra_whitespaces = field.AsBool();
    if (field.number == 5) vocab.escape_whitespaces = field.AsBool();
    return {};
  });
}

Status RefuseDenormalizer(std::string_view message, std::size_t start) {
  return ForEachField(message, start, [&](const Field& field, std::size_t) -> Status {
    if (field.number == 2 && field.type == kBytes && !field.bytes.empty()) {
      return Unsupported("the model has a denormalizer, which is not supported");
    }
    return {};
  });
}

}  // namespace

Result<SentencePieceVocab> ParseSentencePieceModel(std::string_view bytes) {
  SentencePieceVocab vocab;
  RETURN_IF_ERROR(ForEachField(bytes, 0, [&](const Field& field, std::size_t at) -> Status {
    if (field.type != kBytes) return {};
    switch (field.number) {
      case 1:
        return ReadPiece(field.bytes, at, vocab);
      case 2:
        return ReadTrainerSpec(field.bytes, at, vocab);
      case 3:
        return ReadNormalizerSpec(field.bytes, at, vocab);
      case 5:
        return RefuseDenormalizer(field.bytes, at);
      default:
        return {};
    }
  }));
  if (vocab.pieces.empty()) return Unreadable("no pieces: not a SentencePiece model?");
  // The piece types decide, as in the reference library; the ids in the trainer's part may be
  // stale.
  int unknowns = 0;
  for (std::size_t id = 0; id < vocab.pieces.size(); ++id) {
    if (vocab.pieces[id].type != VocabPieceType::kUnknown) continue;
    vocab.unk_id = static_cast<int>(id);
    ++unknowns;
  }
  if (unknowns != 1) return Unreadable("{} unknown pieces, where there must be one", unknowns);
  const auto in_range = [&](int id) { return id < static_cast<int>(vocab.pieces.size()); };
  for (int* id : {&vocab.bos_id, &vocab.eos_id, &vocab.pad_id}) {
    if (*id < 0 || !in_range(*id) || vocab.pieces[*id].type != VocabPieceType::kControl) *id = -1;
  }
  return vocab;
}

}  // namespace tonnage
