#include "tokenizer/normal_form.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tonnage {
namespace {

std::string Form(NormalForm form, std::string_view text) {
  return Normalized(form, text).value_or(std::string(text));
}

TEST(NormalForm, DecomposesAndComposes) {
  EXPECT_EQ(Form(NormalForm::kNfd, "é각"), "e\u0301\u1100\u1161\u11A8");
  EXPECT_EQ(Form(NormalForm::kNfc, "e\u0301\u1100\u1161\u11A8"), "é각");
  EXPECT_EQ(Form(NormalForm::kNfkd, "ﬁ①Å"), "fi1A\u030A");
  EXPECT_EQ(Form(NormalForm::kNfkc, "ﬁ①A\u030A"), "fi1Å");
}

TEST(NormalForm, OrdersMarksByTheirClassAndKeepsEqualOnesInOrder) {
  EXPECT_EQ(Form(NormalForm::kNfd, "a\u0301\u0316\u0300"), "a\u0316\u0301\u0300");
  EXPECT_EQ(Form(NormalForm::kNfc, "a\u0316\u0301"), "á\u0316");
}

TEST(NormalForm, ABlockedMarkDoesNotCompose) {
  EXPECT_EQ(Form(NormalForm::kNfc, "a\u0305\u0301"), "a\u0305\u0301");
}

TEST(NormalForm, LeavesCompositionExclusionsDecomposed) {
  EXPECT_EQ(Form(NormalForm::kNfc, "\u0958"), "\u0915\u093C");
  EXPECT_EQ(Form(NormalForm::kNfc, "\u2126"), "Ω");
}

TEST(NormalForm, SaysNothingWhereNothingChanges) {
  EXPECT_FALSE(Normalized(NormalForm::kNfc, "plain, é, 中文, 한국어").has_value());
  EXPECT_FALSE(Normalized(NormalForm::kNfd, "plain").has_value());
}

TEST(NormalForm, SortsALongRunOfMarksInReasonableTime) {
  std::string marks = "a";
  for (int i = 0; i < 250000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0316";
  const auto start = std::chrono::steady_clock::now();
  const std::string sorted = Form(NormalForm::kNfd, marks);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(sorted.substr(0, 5), "a\u0316\u0316");
  EXPECT_EQ(sorted.size(), marks.size());
}

}  // namespace
}  // namespace tonnage
