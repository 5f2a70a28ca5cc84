// What str's methods and the text filters share.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

// Without leading and trailing white space, or without any of `chars` where given.
std::string_view Strip(std::string_view text, const String* chars, bool left, bool right);

// Gives the parts to `emit` one by one, and stops where it returns false. At most `limit` cuts, or
// any number where it is negative. The functions from the right give the last part first.
using EmitPart = std::function<bool(std::string_view)>;
void Split(std::string_view text, std::string_view separator, std::int64_t limit,
           const EmitPart& emit);
void SplitRight(std::string_view text, std::string_view separator, std::int64_t limit,
                const EmitPart& emit);
void SplitSpace(std::string_view text, std::int64_t limit, const EmitPart& emit);
void SplitSpaceRight(std::string_view text, std::int64_t limit, const EmitPart& emit);
void SplitLines(std::string_view text, bool keep_ends, const EmitPart& emit);

// str.replace.
Value Replace(Renderer& renderer, std::string_view text, std::string_view from, std::string_view to,
              std::int64_t limit, bool markup);
// str.ljust, rjust and center, by `align` '<', '>' and '^'.
Value Justify(Renderer& renderer, const Value& text, std::int64_t width, std::string_view fill,
              char align);

// The predicates of str: every character has the property, and there is one.
bool IsAlnumText(std::string_view text);
bool IsAlphaText(std::string_view text);
bool IsDecimalText(std::string_view text);
bool IsDigitText(std::string_view text);
bool IsNumericText(std::string_view text);
bool IsSpaceText(std::string_view text);
bool IsPrintableText(std::string_view text);  // an empty text is printable
bool IsLowerText(std::string_view text);
bool IsUpperText(std::string_view text);
bool IsTitleText(std::string_view text);

}  // namespace tonnage::chat
