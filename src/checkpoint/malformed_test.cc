// Every way that we know to spoil a checkpoint. Each is refused with a message that names the
// tensor or key and the reason, and costs no more memory than the file justifies, whatever sizes it
// claims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/testing.h"

namespace {

// The bytes that operator new has given out and not got back, and their peak since it was last
// reset.
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

}  // namespace

void* operator new(size_t size) {
  void* pointer = std::malloc(size);
  if (pointer == nullptr) throw std::bad_alloc();
  const std::int64_t live = live_bytes += static_cast<std::int64_t>(malloc_usable_size(pointer));
  if (live > peak_bytes) peak_bytes = live;
  return pointer;
}
void operator delete(void* pointer) noexcept {
  if (pointer != nullptr) live_bytes -= static_cast<std::int64_t>(malloc_usable_size(pointer));
  std::free(pointer);
}
void operator delete(void* pointer, size_t) noexcept { operator delete(pointer); }

namespace tonnage {
namespace {

using testing::AsBytes;
using testing::GgufParts;
using testing::GgufString;
using testing::GgufTensorInfo;
using testing::GgufTypeId;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::Raw;
using testing::SafetensorsFile;

// Runs `parse` and checks what it allocated at its worst: the file's size (of which a real entry
// takes part) and some for messages. `factor` is for files of nothing but the smallest entries,
// which take more here than there.
template <typename Parse>
auto Bounded(size_t file_bytes, int factor, const Parse& parse) {
  const std::int64_t before = live_bytes;
  peak_bytes = before;
  auto result = parse();
  EXPECT_LE(peak_bytes - before, factor * static_cast<std::int64_t>(file_bytes) + 4096);
  return result;
}

struct Case {
  std::string name;
  std::string file;
  std::vector<std::string> message;  // each must be part of the error
};

template <typename Parse>
void ExpectRefused(const std::vector<Case>& cases, const Parse& parse, int factor = 1) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto result = Bounded(c.file.size(), factor, [&] { return parse(c.file); });
    if (result.ok()) {
      ADD_FAILURE() << "was read";
      continue;
    }
    for (const std::string& part : c.message)
      EXPECT_THAT(result.error().message(), HasSubstr(part));
  }
}

// A file with one tensor `x` of the given description, and with the given number of bytes of data.
std::string OneTensor(std::string_view description, size_t data_bytes = 8) {
  return SafetensorsFile("{\"x\":" + std::string(description) + "}", std::string(data_bytes, '\0'));
}

std::vector<Case> SafetensorsHeaderCases() {
  return {
      {"empty file", "", {"0 bytes"}},
      {"shorter than the length", "1234567", {"7 bytes"}},
      {"header longer than the file",
       Raw<std::uint64_t>(1000) + "{}",
       {"header", "1008", "10", "cut short"}},
      {"header of 2^64-1 bytes",
       Raw<std::uint64_t>(~0ull) + "{}",
       {"header", "18446744073709551615"}},
      {"header above the format's bound",
       Raw<std::uint64_t>(100'000'001) + "{}",
       {"header", "100000001"}},
      {"no header", Raw<std::uint64_t>(0), {"header"}},
      {"header of something else", SafetensorsFile("\x80\x02}q", ""), {"does not begin with `{`"}},
      {"header is cut",
       SafetensorsFile(R"({"x":{"dtype":"F32","sha)", ""),
       {"`x`", "malformed JSON"}},
      {"header is cut between tensors",
       SafetensorsFile(R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)", ""),
       {"after tensor `x`"}},
      {"text after the header", SafetensorsFile("{} {}", ""), {"header", "malformed JSON"}},
      {"a name twice",
       SafetensorsFile(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                       "ab"),
       {"`x` stands twice"}},
      {"a field twice",
       OneTensor(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
       {"`x`", "`dtype`", "twice"}},
      {"an empty shape twice",
       OneTensor(R"({"shape":[],"shape":[2],"dtype":"F32","data_offsets":[0,8]})"),
       {"`x`", "`shape`", "twice"}},
      {"an unknown field",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"scale":1})"),
       {"`x`", "`scale`"}},
      {"metadata of numbers",
       SafetensorsFile(R"({"__metadata__":{"epoch":3}})", ""),
       {"`__metadata__`", "`epoch`"}},
      {"metadata is a list",
       SafetensorsFile(R"({"__metadata__":[]})", ""),
       {"`__metadata__`", "an array"}},
      {"metadata twice",
       SafetensorsFile(R"({"__metadata__":{},"__metadata__":{}})", ""),
       {"`__metadata__`", "twice"}},
      {"a name that is no UTF-8",
       SafetensorsFile("{\"\xff\xfe\":{}}", ""),
       {"malformed JSON at byte"}},
      {"very deep",
       SafetensorsFile("{\"x\":" + std::string(100'000, '['), ""),
       {"`x`", "an array"}},
  };
}

std::vector<Case> SafetensorsEntryCases() {
  return {
      {"tensor is a string", OneTensor("\"F32\""), {"`x`", "a string"}},
      {"tensor is null", OneTensor("null"), {"`x`", "null"}},
      {"tensor is a list", OneTensor("[1]"), {"`x`", "an array"}},
      {"tensor is a number", OneTensor("7"), {"`x`", "a number"}},
      {"no dtype", OneTensor(R"({"shape":[2],"data_offsets":[0,8]})"), {"`x`", "no `dtype`"}},
      {"no shape", OneTensor(R"({"dtype":"F32","data_offsets":[0,8]})"), {"`x`", "no `shape`"}},
      {"no data_offsets",
       OneTensor(R"({"dtype":"F32","shape":[2]})"),
       {"`x`", "no `data_offsets`"}},
      {"nothing at all", OneTensor("{}"), {"`x`", "no `dtype`"}},
      {"unknown dtype",
       OneTensor(R"({"dtype":"Q4_K","shape":[2],"data_offsets":[0,8]})"),
       {"`x`", "dtype `Q4_K`"}},
      {"dtype in small letters",
       OneTensor(R"({"dtype":"f32","shape":[2],"data_offsets":[0,8]})"),
       {"`x`", "`f32`"}},
      {"dtype is a number",
       OneTensor(R"({"dtype":32,"shape":[2],"data_offsets":[0,8]})"),
       {"`x`", "`dtype`", "a number"}},
      {"negative extent",
       OneTensor(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
       {"`x`", "`shape`", "negative"}},
      {"fractional extent",
       OneTensor(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
       {"`x`", "`shape`", "whole"}},
      {"extent beyond 64 bits",
       OneTensor(R"({"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]})"),
       {"`x`", "`shape`", "too large"}},
      {"extent beyond 63 bits",
       OneTensor(R"({"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]})"),
       {"`x`", "`shape`", "too large"}},
      {"extent is a string",
       OneTensor(R"({"dtype":"F32","shape":["2"],"data_offsets":[0,8]})"),
       {"`x`", "`shape`"}},
      {"extents in extents",
       OneTensor(R"({"dtype":"F32","shape":[[2]],"data_offsets":[0,8]})"),
       {"`x`", "`shape`"}},
      {"elements overflow",
       OneTensor(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
       {"`x`", "[4294967296, 4294967296]", "too large"}},
      {"bytes overflow",
       OneTensor(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})", 0),
       {"`x`", "[2305843009213693952]", "too large"}},
      {"nine dimensions",
       OneTensor(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]})", 1),
       {"`x`", "more than 8 dimensions"}},
      {"ends inside a byte",
       OneTensor(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})", 2),
       {"`x`", "F4 [3]", "whole"}},
  };
}

std::vector<Case> SafetensorsLayoutCases() {
  const auto two = [](std::string_view second_offsets, size_t bytes) {
    return SafetensorsFile(
        R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"U8","shape":[4],)"
        R"("data_offsets":)" +
            std::string(second_offsets) + "}}",
        std::string(bytes, '\0'));
  };
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  return {
      {"one offset",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[8]})"),
       {"`x`", "`data_offsets`"}},
      {"three offsets",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})"),
       {"`x`", "`data_offsets`"}},
      {"no offsets",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[]})"),
       {"`x`", "`data_offsets`"}},
      {"negative offset",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})"),
       {"`x`", "`data_offsets`"}},
      {"ends before it begins",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
       {"`x`", "before it begins"}},
      {"ends beyond the file", OneTensor(good, 7), {"`x` ends at byte", "cut short"}},
      {"ends at 2^64-1",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]})"),
       {"`x` ends at byte 18446744073709551615", "cut short"}},
      {"begins at 2^64-8",
       OneTensor(R"({"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,0]})"),
       {"`x`", "before it begins"}},
      {"fewer bytes than the shape",
       OneTensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
       {"`x` is F32 [3]", "takes 12 bytes", "span 8"}},
      {"more bytes than the shape",
       OneTensor(R"({"dtype":"F16","shape":[3],"data_offsets":[0,8]})"),
       {"`x` is F16 [3]", "6"}},
      {"a hole at the start",
       OneTensor(R"({"dtype":"U8","shape":[4],"data_offsets":[4,8]})"),
       {"`x`", "bytes 0 to 4"}},
      {"a hole between", two("[5,9]", 9), {"`y`", "bytes 4 to 5"}},
      {"an overlap", two("[3,7]", 7), {"`y` overlaps tensor `x`"}},
      {"the same bytes twice", two("[0,4]", 4), {"overlaps tensor"}},
      {"bytes of nobody at the end", OneTensor(good, 12), {"4 bytes after the last tensor `x`"}},
      {"bytes and no tensor", SafetensorsFile("{}", "abc"), {"3 bytes"}},
  };
}

TEST(Malformed, SafetensorsIsRefusedByName) {
  const auto parse = [](const std::string& file) { return ParseSafetensors(AsBytes(file)); };
  ExpectRefused(SafetensorsHeaderCases(), parse);
  ExpectRefused(SafetensorsEntryCases(), parse);
  ExpectRefused(SafetensorsLayoutCases(), parse);
}

// A GGUF file with one metadata entry or one tensor, as the case spoils it.
std::string WithEntry(const std::function<void(GgufParts&)>& spoil) {
  GgufParts parts;
  spoil(parts);
  return parts.Build();
}
std::string WithTensors(std::vector<std::string> infos, size_t data_bytes = 64) {
  GgufParts parts;
  parts.tensors = std::move(infos);
  parts.data = std::string(data_bytes, '\0');
  return parts.Build();
}

std::vector<Case> GgufHeaderCases() {
  const auto header = [](std::uint32_t version, std::uint64_t tensors = 0,
                         std::uint64_t entries = 0) {
    return Raw<std::uint32_t>(0x46554747) + Raw(version) + Raw(tensors) + Raw(entries);
  };
  return {
      {"empty file", "", {"not a GGUF file"}},
      {"three bytes", "GGU", {"not a GGUF file"}},
      {"something else", "GGML" + std::string(60, '\0'), {"not a GGUF file"}},
      {"only the magic", "GGUF", {"cut short"}},
      {"version 0", header(0), {"version 0"}},
      {"version 1", header(1), {"version 1"}},
      {"version 4", header(4), {"version 4"}},
      {"big-endian", header(0x03000000), {"big-endian"}},
      {"header is cut", header(3).substr(0, 20), {"cut short"}},
      {"2^64-1 entries", header(3, 0, ~0ull), {"18446744073709551615 metadata entries"}},
      {"2^64-1 tensors", header(3, ~0ull), {"18446744073709551615 tensors"}},
      {"2^60 tensors", header(3, 1ull << 60), {"1152921504606846976 tensors"}},
      {"more entries than fit",
       WithEntry([](GgufParts& p) {
         p.Add("a", GgufType::kU64, Raw<std::uint64_t>(1));
         p.extra_entries = 5;
       }),
       {"6 metadata entries"}},
      {"an entry too few",
       WithEntry([](GgufParts& p) {
         p.Add("a", GgufType::kU64, Raw<std::uint64_t>(1));
         p.extra_entries = 1;
         p.data = std::string(20, 'k');
       }),
       {"metadata key 2 of 2, after `a`", "cut short"}},
      {"a tensor too few",
       WithEntry([](GgufParts& p) {
         p.extra_tensors = 1;
         p.data = std::string(30, 'k');
       }),
       {"tensor 1 of 1", "cut short"}},
  };
}

std::vector<Case> GgufMetadataCases() {
  const auto entry = [](std::string_view key, GgufType type, std::string_view value,
                        std::string_view after = "") {
    return WithEntry([&](GgufParts& p) {
      p.Add(key, type, value);
      p.data = after;
    });
  };
  const auto array = [](GgufType type, std::uint64_t count, std::string_view elements) {
    return WithEntry([&](GgufParts& p) { p.AddArray("a.list", type, count, elements); });
  };
  const std::string padding(64, '\0');
  std::string nested;
  for (int i = 0; i < 5; ++i) nested += GgufTypeId(GgufType::kArray) + Raw<std::uint64_t>(1);
  return {
      {"key of 2^64-1 bytes",
       WithEntry([&](GgufParts& p) {
         p.entries = {Raw<std::uint64_t>(~0ull) + "k"};
         p.data = padding;
       }),
       {"metadata key 1 of 1", "18446744073709551615 bytes"}},
      {"empty key", entry("", GgufType::kU32, Raw(1)), {"metadata key 1 of 1", "empty"}},
      {"key of 65,536 bytes",
       entry(std::string(65536, 'k'), GgufType::kU32, Raw(1)),
       {"metadata key 1 of 1", "65536"}},
      {"unknown value type",
       entry("a.b", static_cast<GgufType>(13), Raw(1)),
       {"`a.b`", "value type 13"}},
      {"value is cut", entry("a.b", GgufType::kF64, "123456"), {"`a.b`", "cut short"}},
      {"string is cut",
       entry("a.b", GgufType::kString, Raw<std::uint64_t>(100) + "x"),
       {"`a.b`", "cut short"}},
      {"string of 2^63 bytes",
       entry("a.b", GgufType::kString, Raw<std::uint64_t>(1ull << 63)),
       {"`a.b`", "cut short"}},
      {"boolean of 2", entry("a.b", GgufType::kBool, "\2"), {"`a.b`", "boolean of 2"}},
      {"array of booleans with 255",
       array(GgufType::kBool, 2, "\1\xff"),
       {"`a.list`", "boolean of 255"}},
      {"array of 2^64-1 bytes",
       array(GgufType::kU8, ~0ull, "x"),
       {"`a.list`", "18446744073709551615 u8s"}},
      {"array of 2^61 numbers, 2^64 bytes",
       array(GgufType::kU64, 1ull << 61, "x"),
       {"`a.list`", "u64s", "cut short"}},
      {"array is cut",
       array(GgufType::kI32, 3, "12345678"),
       {"`a.list`", "3 i32s", "8 bytes left"}},
      {"array of an unknown type",
       array(static_cast<GgufType>(99), 1, "x"),
       {"`a.list`", "value type 99"}},
      {"array of 2^40 strings",
       array(GgufType::kString, 1ull << 40, GgufString("a")),
       {"`a.list`", "strings"}},
      {"array of strings is cut",
       array(GgufType::kString, 2, GgufString("a") + Raw<std::uint64_t>(9) + "b"),
       {"`a.list`", "cut short"}},
      {"array of 2^50 arrays", array(GgufType::kArray, 1ull << 50, nested), {"`a.list`", "arrays"}},
      {"arrays in arrays in arrays",
       array(GgufType::kArray, 1, nested + padding),
       {"`a.list`", "deeper than"}},
      {"inner array is cut",
       array(GgufType::kArray, 1, GgufTypeId(GgufType::kU8) + Raw<std::uint64_t>(9) + "x"),
       {"`a.list`", "9 u8s", "1 bytes left"}},
      {"a key twice",
       WithEntry([](GgufParts& p) {
         for (const char* key : {"x", "y", "x"}) p.Add(key, GgufType::kU8, "1");
       }),
       {"`x` stands twice"}},
      {"alignment of 0",
       entry("general.alignment", GgufType::kU32, Raw(0)),
       {"`general.alignment` is 0"}},
      {"alignment of 48",
       entry("general.alignment", GgufType::kU32, Raw(48)),
       {"`general.alignment` is 48"}},
      {"alignment of -32",
       entry("general.alignment", GgufType::kI32, Raw(-32)),
       {"`general.alignment` is -32"}},
      {"alignment of 2^62",
       entry("general.alignment", GgufType::kU64, Raw(1ll << 62)),
       {"`general.alignment`"}},
      {"alignment is a string",
       entry("general.alignment", GgufType::kString, GgufString("32")),
       {"`general.alignment`"}},
      {"a key that would write to the terminal",
       entry("\x1b[31m\n", GgufType::kBool, "\7"),
       {R"(`\x1b[31m\x0a`)"}},
  };
}

std::vector<Case> GgufTensorCases() {
  constexpr std::uint32_t kF32 = 0, kQ4_0 = 2, kQ6_K = 14, kF64 = 28;
  return {
      {"five dimensions",
       WithTensors({GgufTensorInfo("w", {1, 1, 1, 1, 1}, kF32, 0)}),
       {"`w`", "5 dimensions"}},
      {"2^32-1 dimensions",
       WithTensors({GgufString("w") + Raw<std::uint32_t>(~0u)}),
       {"`w`", "4294967295 dimensions"}},
      {"extent of 2^63",
       WithTensors({GgufTensorInfo("w", {1ull << 63}, kF32, 0)}),
       {"`w`", "9223372036854775808"}},
      {"elements overflow",
       WithTensors({GgufTensorInfo("w", {1ull << 32, 1ull << 32}, kF32, 0)}),
       {"`w`", "overflows"}},
      {"bytes overflow",
       WithTensors({GgufTensorInfo("w", {1ull << 61}, kF64, 0)}),
       {"`w`", "overflows"}},
      {"part of a block",
       WithTensors({GgufTensorInfo("w", {48, 2}, kQ4_0, 0)}),
       {"`w`", "48 elements", "block of 32"}},
      {"part of a super-block",
       WithTensors({GgufTensorInfo("w", {128}, kQ6_K, 0)}),
       {"`w`", "Q6_K", "256"}},
      {"unknown type", WithTensors({GgufTensorInfo("w", {32}, 4000, 0)}), {"`w`", "type 4000"}},
      {"withdrawn type", WithTensors({GgufTensorInfo("w", {32}, 4, 0)}), {"`w`", "type 4"}},
      {"misaligned",
       WithTensors({GgufTensorInfo("w", {4}, kF32, 8)}),
       {"`w`", "offset 8", "alignment of 32"}},
      {"begins beyond the file",
       WithTensors({GgufTensorInfo("w", {4}, kF32, 96)}),
       {"`w`", "offset 96", "cut short"}},
      {"begins at 2^64-32",
       WithTensors({GgufTensorInfo("w", {16}, kF32, ~31ull)}),
       {"`w`", "cut short"}},
      {"ends beyond the file",
       WithTensors({GgufTensorInfo("w", {17}, kF32, 0)}),
       {"`w` wants 68", "64", "cut short"}},
      {"no data at all", WithTensors({GgufTensorInfo("w", {4}, kF32, 0)}, 0), {"`w`", "cut short"}},
      {"an overlap",
       WithTensors({GgufTensorInfo("w", {8}, kF32, 32), GgufTensorInfo("v", {9}, kF32, 0)}),
       {"`w` overlaps tensor `v`"}},
      {"the same bytes twice",
       WithTensors({GgufTensorInfo("w", {8}, kF32, 0), GgufTensorInfo("v", {8}, kF32, 0)}),
       {"overlaps tensor"}},
      {"a name twice",
       WithTensors({GgufTensorInfo("w", {8}, kF32, 0), GgufTensorInfo("w", {8}, kF32, 32)}),
       {"`w` stands twice"}},
      {"second name is cut",
       WithTensors(
           {GgufTensorInfo("w", {8}, kF32, 0), Raw<std::uint64_t>(1000) + std::string(99, 'x')}),
       {"tensor 2 of 2, after `w`", "cut short"}},
      {"empty name", WithTensors({GgufTensorInfo("", {8}, kF32, 0)}), {"tensor 1 of 1", "empty"}},
      {"name of 2^64-1 bytes",
       WithTensors({Raw<std::uint64_t>(~0ull) + "w" + std::string(32, '\0')}),
       {"tensor 1 of 1", "cut short"}},
  };
}

TEST(Malformed, GgufIsRefusedByName) {
  const auto parse = [](const std::string& file) { return Gguf::Parse(AsBytes(file)); };
  ExpectRefused(GgufHeaderCases(), parse);
  ExpectRefused(GgufMetadataCases(), parse);
  ExpectRefused(GgufTensorCases(), parse);
}

// The smallest entries, many of them, before the one that is refused; and one token as long as the
// file.
TEST(Malformed, RefusingALargeFileCostsInProportion) {
  constexpr int kEntries = 20'000;
  std::string header = "{";
  GgufParts tensors, entries;
  for (int i = 0; i < kEntries; ++i) {
    header +=
        fmt::format(R"("{}":{{"dtype":"U8","shape":[],"data_offsets":[{},{}]}},)", i, i, i + 1);
    tensors.tensors.push_back(GgufTensorInfo(std::to_string(i), {}, 24, 0));
    entries.Add(std::to_string(i), GgufType::kU8, "1");
  }
  header += "\"last\":0}";
  tensors.tensors.push_back(GgufTensorInfo("last", {}, 99, 0));
  entries.Add("last", GgufType::kBool, "7");
  ExpectRefused(
      {{"one long name", SafetensorsFile("{\"" + std::string(2 << 20, 'x'), ""), {"token"}},
       {"one long number", SafetensorsFile("{\"x\":" + std::string(2 << 20, '1'), ""), {"token"}}},
      [](const std::string& file) { return ParseSafetensors(AsBytes(file)); });
  ExpectRefused(
      {{"many tensors", SafetensorsFile(header, ""), {"`last`"}}},
      [](const std::string& file) { return ParseSafetensors(AsBytes(file)); }, 12);
  ExpectRefused(
      {{"many tensors", tensors.Build(), {"`last`"}},
       {"many entries", entries.Build(), {"`last`"}}},
      [](const std::string& file) { return Gguf::Parse(AsBytes(file)); }, 12);
}

// A file is never read when it is cut short anywhere, nor does a spoilt byte bring down the reader
// or make it allocate.
template <typename Parse>
void ExpectSurvivesMutation(const std::string& good, size_t header_bytes, const Parse& parse) {
  ASSERT_TRUE(parse(good).ok()) << parse(good).error().message();
  for (size_t length = 0; length < good.size(); ++length) {
    const std::string cut = good.substr(0, length);
    const auto result = Bounded(cut.size(), 1, [&] { return parse(cut); });
    ASSERT_FALSE(result.ok()) << "cut at " << length;
    EXPECT_NE(result.error().message(), "");
  }
  for (size_t at = 0; at < header_bytes; ++at) {
    for (unsigned char value : {0x00, 0x01, 0x22, 0x30, 0x5d, 0x7f, 0x80, 0xff}) {
      std::string spoilt = good;
      spoilt[at] = static_cast<char>(value);
      const auto result = Bounded(spoilt.size(), 1, [&] { return parse(spoilt); });
      EXPECT_TRUE(result.ok() || !result.error().message().empty());
    }
  }
}

TEST(Malformed, SafetensorsSurvivesMutation) {
  const std::string data(48, '\3');
  const std::vector<SafetensorsTensor> tensors = {
      MakeTensor("model.embed.weight", "BF16", {2, 8}, std::string_view(data).substr(0, 32)),
      MakeTensor("model.norm.weight", "F32", {4}, std::string_view(data).substr(32))};
  const std::vector<std::pair<std::string, std::string>> metadata = {{"format", "pt"}};
  const std::string header = SafetensorsHeader(tensors, metadata);
  ExpectSurvivesMutation(header + data, header.size(),
                         [](const std::string& file) { return ParseSafetensors(AsBytes(file)); });
}

TEST(Malformed, GgufSurvivesMutation) {
  GgufParts parts;
  parts.Add("general.architecture", GgufType::kString, GgufString("llama"));
  parts.Add("llama.block_count", GgufType::kU32, Raw(2));
  parts.AddArray("tokenizer.ggml.tokens", GgufType::kString, 2, GgufString("a") + GgufString("bc"));
  parts.AddArray("nested", GgufType::kArray, 1,
                 GgufTypeId(GgufType::kF32) + Raw<std::uint64_t>(1) + Raw(1.f));
  parts.tensors = {GgufTensorInfo("token_embd.weight", {32, 2}, 3, 0),
                   GgufTensorInfo("output_norm.weight", {8}, 0, 64)};
  const size_t header_bytes = parts.Build().size();
  parts.data = std::string(96, '\1');
  ExpectSurvivesMutation(parts.Build(), header_bytes,
                         [](const std::string& file) { return Gguf::Parse(AsBytes(file)); });
}

}  // namespace
}  // namespace tonnage
