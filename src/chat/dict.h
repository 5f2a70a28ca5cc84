// Dictionaries in order of insertion, with Python's equality of keys: 1, 1.0 and true are one key.
// Filled while they are made, then never changed (a namespace's attributes aside).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

// nullptr, and failed, when memory runs out.
Dict* NewDict(Renderer& renderer, std::size_t capacity);

// Adds or replaces. False, and failed, for a key that cannot be one or when memory runs out.
bool DictSet(Renderer& renderer, Dict* dict, const Value& key, const Value& value);

// The value of `key`, or nullptr; an unhashable key is simply not there.
const Value* DictFind(Renderer& renderer, const Dict& dict, const Value& key);
const Value* DictFindText(const Dict& dict, std::string_view key);

// Nothing for what Python cannot hash: lists and dictionaries, and what holds them.
std::optional<std::uint64_t> Hash(Renderer& renderer, const Value& value);

}  // namespace tonnage::chat
