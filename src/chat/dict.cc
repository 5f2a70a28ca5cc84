#include "chat/dict.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "chat/number.h"
#include "chat/operators.h"

namespace tonnage::chat {
namespace {

constexpr std::uint32_t kLargestWithoutBuckets = 8;

std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

std::uint64_t HashText(std::string_view text) { return std::hash<std::string_view>{}(text); }

bool SameKey(Renderer& renderer, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) return a.text() == b.text();
  return a.IsSameAs(b) || Equal(renderer, a, b) == Truth::kTrue;
}

// The number of the entry with `key`, or -1.
template <typename Same>
std::int64_t Find(const Dict& dict, std::uint64_t hash, Same&& same) {
  if (dict.buckets == nullptr) {
    for (std::uint32_t i = 0; i < dict.size; ++i) {
      if (same(dict.entries[i].key)) return i;
    }
    return -1;
  }
  const std::uint32_t mask = dict.bucket_count - 1;
  for (std::uint32_t b = static_cast<std::uint32_t>(hash) & mask;; b = (b + 1) & mask) {
    const std::uint32_t entry = dict.buckets[b];
    if (entry == 0) return -1;
    if (same(dict.entries[entry - 1].key)) return entry - 1;
  }
}

void AddToBuckets(Dict* dict, std::uint64_t hash, std::uint32_t entry) {
  const std::uint32_t mask = dict->bucket_count - 1;
  std::uint32_t b = static_cast<std::uint32_t>(hash) & mask;
  while (dict->buckets[b] != 0) b = (b + 1) & mask;
  dict->buckets[b] = entry + 1;
}

bool Grow(Renderer& renderer, Dict* dict, std::uint32_t capacity) {
  Entry* entries = renderer.arena().NewArray<Entry>(capacity);
  std::uint32_t* buckets = nullptr;
  const std::uint32_t bucket_count = std::bit_ceil(capacity * 2);
  if (capacity > kLargestWithoutBuckets) {
    buckets = renderer.arena().NewArray<std::uint32_t>(bucket_count);
  }
  if (entries == nullptr || (capacity > kLargestWithoutBuckets && buckets == nullptr)) {
    renderer.FailOutOfMemory();
    return false;
  }
  if (dict->size != 0) std::copy(dict->entries, dict->entries + dict->size, entries);
  dict->entries = entries;
  dict->capacity = capacity;
  dict->buckets = buckets;
  dict->bucket_count = bucket_count;
  if (buckets != nullptr) {
    std::memset(buckets, 0, sizeof(std::uint32_t) * bucket_count);
    for (std::uint32_t i = 0; i < dict->size; ++i)
      AddToBuckets(dict, *Hash(renderer, entries[i].key), i);
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> Hash(Renderer& renderer, const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return HashText(value.text());
    case Kind::kNone:
      return 0x9e3779b97f4a7c15ULL;
    case Kind::kUndefined:  // all are equal
      return 0x7f4a7c159e3779b9ULL;
    case Kind::kBool:
    case Kind::kInt:
      return Mix(static_cast<std::uint64_t>(value.integer()));
    case Kind::kFloat: {
      const double number = value.real();
      const auto whole = TruncateFloat(number);
      if (whole && static_cast<double>(*whole) == number)
        return Mix(static_cast<std::uint64_t>(*whole));
      return Mix(std::bit_cast<std::uint64_t>(number));
    }
    case Kind::kTuple: {
      const Renderer::Depth depth(&renderer);
      if (!depth.Ok() || !renderer.Step()) return {};
      std::uint64_t hash = 0x345678;
      for (const Value& item : value.items()) {
        const auto part = Hash(renderer, item);
        if (!part) return {};
        hash = Mix(hash * 31 + *part);
      }
      return hash;
    }
    case Kind::kRange: {
      const auto& range = value.as<Range>();
      return Mix(range.size == 0 ? 0
                                 : static_cast<std::uint64_t>(range.start) * 31 +
                                       static_cast<std::uint64_t>(range.size));
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kSlice:
    case Kind::kError:
    case Kind::kMissing:
      return {};
    default:
      return Mix(reinterpret_cast<std::uintptr_t>(value.address()));
  }
}

Dict* NewDict(Renderer& renderer, std::size_t capacity) {
  Dict* dict = renderer.arena().New<Dict>(Dict{});
  if (dict == nullptr || capacity > UINT32_MAX / 4) {
    renderer.FailOutOfMemory();
    return nullptr;
  }
  if (capacity != 0 && !Grow(renderer, dict, static_cast<std::uint32_t>(capacity))) return nullptr;
  return dict;
}

bool DictSet(Renderer& renderer, Dict* dict, const Value& key, const Value& value) {
  const auto hash = Hash(renderer, key);
  if (!hash || !renderer.Step()) {
    renderer.Fail(fmt::format("a {} cannot be a key of a dict", TypeName(key)));
    return false;
  }
  const auto found =
      Find(*dict, *hash, [&](const Value& other) { return SameKey(renderer, other, key); });
  if (renderer.failed()) return false;
  if (found >= 0) {
    dict->entries[found].value = value;
    return true;
  }
  if (dict->size == dict->capacity && !Grow(renderer, dict, std::max(4u, dict->capacity * 2)))
    return false;
  dict->entries[dict->size] = {key, value};
  if (dict->buckets != nullptr) AddToBuckets(dict, *hash, dict->size);
  ++dict->size;
  return true;
}

const Value* DictFind(Renderer& renderer, const Dict& dict, const Value& key) {
  if (key.is_string()) return DictFindText(dict, key.text());
  const auto hash = Hash(renderer, key);
  if (!hash) return nullptr;
  const auto found =
      Find(dict, *hash, [&](const Value& other) { return SameKey(renderer, other, key); });
  return found < 0 ? nullptr : &dict.entries[found].value;
}

const Value* DictFindText(const Dict& dict, std::string_view key) {
  const std::uint64_t hash = dict.buckets ? HashText(key) : 0;
  const auto found = Find(
      dict, hash, [key](const Value& other) { return other.is_string() && other.text() == key; });
  return found < 0 ? nullptr : &dict.entries[found].value;
}

}  // namespace tonnage::chat
