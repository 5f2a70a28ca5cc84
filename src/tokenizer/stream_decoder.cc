#include "tokenizer/stream_decoder.h"

namespace tonnage {

Status StreamDecoder::Push(TokenId id, std::string& out) {
  const auto token = tokenizer_->DecodedToken(id, skip_special_);
  if (!token) return {};
  RETURN_IF_ERROR(stage_->Push({std::string(*token)}, chunks_));
  Take(out);
  return {};
}

Status StreamDecoder::Finish(std::string& out) {
  RETURN_IF_ERROR(stage_->Finish(chunks_));
  Take(out);
  return {};
}

void StreamDecoder::Take(std::string& out) {
  for (const DecodeChunk& chunk : chunks_) out += chunk.text;
  chunks_.clear();
}

}  // namespace tonnage
