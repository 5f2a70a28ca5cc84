// Token ids to text as they come, without the special tokens.
#pragma once

#include "tokenizer/stream_decoder.h"

namespace tonnage {

using TextStream = StreamDecoder;

}  // namespace tonnage
