// Specs, weights and steps that a program cannot take: each is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "backend/cpu/testing.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

class BadInputs : public ::testing::Test {
 protected:
  BadInputs() : decoder_({.features = CpuFeatures::Detect()}) {
    EXPECT_TRUE(decoder_.Load().ok());
    tokens_ = {1, 2, 3, 4};
    positions_ = {0, 1, 2, 7};
    slots_ = {0, 0, 0, 1};
    logit_rows_ = {1, 3};
    page_table_ = decoder_.page_table;
  }
  Result<Event> Submit() {
    return decoder_.backend.Submit(*decoder_.program, {.tokens = tokens_,
                                                       .positions = positions_,
                                                       .slots = slots_,
                                                       .logit_rows = logit_rows_,
                                                       .page_table = page_table_});
  }
  void ExpectRefused(const char* message) {
    const auto event = Submit();
    ASSERT_FALSE(event.ok()) << message;
    EXPECT_EQ(event.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(event.error().message(), HasSubstr(message));
  }

  Decoder decoder_;
  std::vector<std::int32_t> tokens_, positions_, slots_, logit_rows_, page_table_;
};

TEST_F(BadInputs, GoodOnesPass) { EXPECT_TRUE(Submit().ok()); }

TEST_F(BadInputs, Sizes) {
  positions_.pop_back();
  ExpectRefused("4 tokens, but 3 positions");
  positions_.push_back(7);
  page_table_.pop_back();
  ExpectRefused("a page table of 14 entries instead of 3 slots of 5 pages");
  tokens_.resize(101);
  ExpectRefused("a step of 101 rows: the program takes 1 to 100");
  tokens_.clear();
  ExpectRefused("a step of 0 rows");
}

TEST_F(BadInputs, Rows) {
  for (std::int32_t token : {-1, 50}) {
    tokens_[2] = token;
    ExpectRefused("row 2: token");
  }
  tokens_[2] = 0;
  for (std::int32_t slot : {-1, 3}) {
    slots_[3] = slot;
    ExpectRefused("row 3: slot");
  }
  slots_[3] = 1;
  for (std::int32_t position : {-1, 300}) {
    positions_[3] = position;
    ExpectRefused("row 3: position");
  }
}

TEST_F(BadInputs, Sequences) {
  positions_[2] = 3;
  ExpectRefused("row 2: position 3 of slot 0 does not follow position 1");
  positions_[2] = 2;
  slots_ = {0, 1, 0, 1};
  ExpectRefused("row 2: the rows of slot 0 do not stand together");
  tokens_.assign(71, 0);
  slots_.assign(71, 0);
  positions_.clear();
  for (std::int32_t i = 0; i < 71; ++i) positions_.push_back(i);
  ExpectRefused("slot 0: 71 rows in one step, more than the 70 of a slice");
}

TEST_F(BadInputs, Pages) {
  positions_ = {62, 63, 64, 7};
  for (std::int32_t page : {-1, 15}) {
    page_table_[1] = page;
    ExpectRefused("slot 0: page 1 is physical page");
  }
  positions_ = {61, 62, 63, 7};
  EXPECT_TRUE(Submit().ok());
}

TEST_F(BadInputs, LogitRows) {
  for (const std::vector<std::int32_t>& rows :
       {std::vector<std::int32_t>{3, 1}, {1, 1}, {-1}, {4}}) {
    logit_rows_ = rows;
    ExpectRefused("logits of row");
  }
  logit_rows_.clear();
  EXPECT_TRUE(Submit().ok());
}

TEST(CpuBackend, RefusesSpecsThatCannotRun) {
  Decoder decoder({.features = CpuFeatures::Detect()});
  const auto refusal = [&](const ProgramSpec& spec) {
    const auto price = decoder.backend.Price(spec);
    EXPECT_FALSE(price.ok());
    EXPECT_FALSE(decoder.backend.MakeWeightStore(spec).ok());
    return price.ok() ? std::string() : price.error().message();
  };
  ProgramSpec spec = decoder.spec;
  spec.cache_settings.kv_dtype = DType::kI32;
  EXPECT_THAT(refusal(spec), HasSubstr("a KV cache of i32"));
  spec = decoder.spec;
  spec.limits.logit_rows = 101;
  EXPECT_THAT(refusal(spec), HasSubstr("logit rows"));
  spec = decoder.spec;
  spec.cache_settings.context_tokens = std::int64_t{1} << 31;
  EXPECT_THAT(refusal(spec), HasSubstr("is not possible"));
  spec = decoder.spec;
  spec.formats = spec.formats.subspan(1);
  EXPECT_THAT(refusal(spec), HasSubstr("but the formats of"));
  std::vector<Format> formats = decoder.formats;
  formats[0] = Format::Of(FormatKind::kQ4_1);  // rows of 24
  spec = decoder.spec;
  spec.formats = formats;
  EXPECT_THAT(refusal(spec), HasSubstr("weight `embed.weight`"));
}

TEST(CpuBackend, MissingAndMistakenWeightsAreNamed) {
  Decoder decoder({.features = CpuFeatures::Detect()});
  auto store = decoder.backend.MakeWeightStore(decoder.spec);
  ASSERT_TRUE(store.ok());
  const Status mistaken =
      (*store)->Store({0}, 0, {.format = Format::Of(FormatKind::kF16), .n = kVocab, .k = 24});
  ASSERT_FALSE(mistaken.ok());
  EXPECT_THAT(mistaken.error().message(), HasSubstr("weight `embed.weight` is f16"));
  EXPECT_FALSE((*store)->Store({1000}, 0, {}).ok());
  const auto program = decoder.backend.MakeProgram(decoder.spec, std::move(*store));
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.error().message(), HasSubstr("`embed.weight` was never stored"));

  store = decoder.backend.MakeWeightStore(decoder.spec);
  ASSERT_TRUE(store.ok());
  std::vector<Format> formats = decoder.formats;
  formats[0] = Format::Of(FormatKind::kF16);
  decoder.spec.formats = formats;
  const auto other = decoder.backend.MakeProgram(decoder.spec, std::move(*store));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message(), HasSubstr("stored for another program"));
  EXPECT_EQ(decoder.ledger.Total(), 0);
}

}  // namespace
}  // namespace tonnage
