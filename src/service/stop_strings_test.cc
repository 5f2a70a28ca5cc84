#include "service/stop_strings.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tonnage {
namespace {

using Strings = std::vector<std::string>;

// The obvious definition: cut where the first stop string ends, at the start of the longest one
// that ends there.
std::string Reference(const std::string& text, const Strings& stops) {
  for (size_t end = 0; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string RunInPieces(const std::string& text, const Strings& stops, size_t piece_bytes) {
  StopStrings filter = StopStrings::Make(stops).value();
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece_bytes) {
    if (filter.Push(std::string_view(text).substr(at, piece_bytes), out)) break;
    // What has been given out by now is never taken back.
    EXPECT_EQ(out, Reference(text, stops).substr(0, out.size()));
  }
  if (!filter.stopped()) filter.Finish(out);
  return out;
}

TEST(StopStrings, EqualsTheReferenceHoweverTheTextIsCut) {
  const Strings sets[] = {{"ab"}, {"aab", "ab"}, {"abab", "b"}, {"aaa"}, {"abba", "bab", "aa"}, {}};
  // Every text of two letters up to ten long.
  for (int bits = 1; bits < (1 << 11); ++bits) {
    std::string text;
    for (int b = bits; b > 1; b /= 2) text += b % 2 == 0 ? 'a' : 'b';
    for (const Strings& stops : sets) {
      for (size_t piece : {1, 2, 3, 20}) {
        ASSERT_EQ(RunInPieces(text, stops, piece), Reference(text, stops)) << text;
      }
    }
  }
}

TEST(StopStrings, HoldsBackOnlyWhatMayBecomeOne) {
  StopStrings filter = StopStrings::Make(Strings{"\nUser:", "</s>"}).value();
  std::string out;
  EXPECT_FALSE(filter.Push("Hello\nUs", out));
  EXPECT_EQ(out, "Hello");
  EXPECT_FALSE(filter.Push("e it </", out));
  EXPECT_EQ(out, "Hello\nUse it ");
  EXPECT_FALSE(filter.Push("b>", out));
  EXPECT_EQ(out, "Hello\nUse it </b>");
  EXPECT_TRUE(filter.Push(" now</s> and more", out));
  EXPECT_EQ(out, "Hello\nUse it </b> now");
  EXPECT_TRUE(filter.Push("ignored", out));
  EXPECT_EQ(out, "Hello\nUse it </b> now");
}

TEST(StopStrings, FinishGivesOutWhatWasHeld) {
  StopStrings filter = StopStrings::Make(Strings{"stop"}).value();
  std::string out;
  EXPECT_FALSE(filter.Push("don't sto", out));
  EXPECT_EQ(out, "don't ");
  filter.Finish(out);
  EXPECT_EQ(out, "don't sto");
}

TEST(StopStrings, LinearOnTheWorstText) {
  Strings stops;
  for (size_t i = 0; i < kMaxStopStrings; ++i) {
    stops.push_back(std::string(kMaxStopStringBytes - 1 - i, 'a') + "b");
  }
  const std::string text(1 << 20, 'a');
  const auto begin = std::chrono::steady_clock::now();
  StopStrings filter = StopStrings::Make(stops).value();
  std::string out;
  EXPECT_FALSE(filter.Push(text, out));
  filter.Finish(out);
  EXPECT_EQ(out, text);
  // Comparing every stop string at every byte would take 2^36 comparisons.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(StopStrings, BadOnesAreRefused) {
  EXPECT_EQ(StopStrings::Make(Strings{"a", ""}).error().message(), "stop string 1 is empty");
  EXPECT_FALSE(StopStrings::Make(Strings{std::string(kMaxStopStringBytes + 1, 'x')}).ok());
  EXPECT_FALSE(StopStrings::Make(Strings(kMaxStopStrings + 1, "x")).ok());
}

}  // namespace
}  // namespace tonnage
