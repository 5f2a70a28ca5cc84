#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

std::vector<TokenId> Encode(const TokenModel& model, std::string_view word) {
  const std::unique_ptr<ModelState> state = model.NewState();
  std::vector<TokenId> ids;
  const Piece piece{word, {}};
  EXPECT_TRUE(model.Encode({&piece, 1}, state.get(), ids).ok());
  return ids;
}

// Byte-pair encoding word for word as it is defined: the best pair anywhere, leftmost first, until
// none is left.
std::vector<TokenId> Defined(const BpeOptions& options, std::vector<std::string> symbols) {
  std::map<std::string, TokenId> ids(options.vocab.begin(), options.vocab.end());
  std::map<std::pair<std::string, std::string>, std::size_t> ranks;
  for (std::size_t i = 0; i < options.merges.size(); ++i) ranks[options.merges[i]] = i;
  while (true) {
    std::size_t best = SIZE_MAX, at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto it = ranks.find({symbols[i], symbols[i + 1]});
      if (it != ranks.end() && it->second < best) {
        best = it->second;
        at = i;
      }
    }
    if (best == SIZE_MAX) break;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::vector<TokenId> result;
  for (const std::string& symbol : symbols) result.push_back(ids.at(symbol));
  return result;
}

std::vector<std::string> Chars(std::string_view text) {
  std::vector<std::string> chars;
  for (std::size_t pos = 0; pos < text.size(); pos += CharLength(text[pos])) {
    chars.emplace_back(text.substr(pos, CharLength(text[pos])));
  }
  return chars;
}

// Merges that random walks over `texts` would learn.
void AddRandomMerges(BpeOptions& options, std::vector<std::vector<std::string>> texts, int count,
                     std::mt19937& random) {
  std::map<std::string, TokenId> known(options.vocab.begin(), options.vocab.end());
  for (int i = 0; i < count; ++i) {
    const std::vector<std::string>& text = texts[random() % texts.size()];
    if (text.size() < 2) continue;
    const std::size_t at = random() % (text.size() - 1);
    const auto merge = std::pair(text[at], text[at + 1]);
    if (std::find(options.merges.begin(), options.merges.end(), merge) != options.merges.end())
      continue;
    options.merges.push_back(merge);
    const std::string joined = merge.first + merge.second;
    if (known.emplace(joined, static_cast<TokenId>(known.size())).second)
      options.vocab.emplace_back(joined, known[joined]);
    for (std::vector<std::string>& words : texts) {
      for (std::size_t k = 0; k + 1 < words.size(); ++k) {
        if (words[k] != merge.first || words[k + 1] != merge.second) continue;
        words[k] = joined;
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      }
    }
  }
  std::shuffle(options.merges.begin(), options.merges.end(), random);
}

std::string RandomText(std::mt19937& random, std::size_t chars) {
  static const std::u32string kAlphabet =
      U"abcde 的一是在不了有和人这\u0301\u00E9\u3042\u3044\U0001F600\U0001F601";
  std::string text;
  for (std::size_t i = 0; i < chars; ++i) AppendChar(text, kAlphabet[random() % kAlphabet.size()]);
  return text;
}

// Long words are cut where the filter says that no merge can join, so any wrong cut shows here:
// over raw bytes, where tokens begin and end inside characters.
TEST(Bpe, CutsRawBytesOnlyWhereNoMergeJoins) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    BpeOptions options;
    for (int byte = 0; byte < 256; ++byte) {
      options.vocab.emplace_back(CharToString(ByteToChar(static_cast<unsigned char>(byte))), byte);
    }
    std::vector<std::vector<std::string>> texts;
    for (int i = 0; i < 20; ++i) texts.push_back(Chars(ToByteAlphabet(RandomText(random, 30))));
    AddRandomMerges(options, texts, 5 + static_cast<int>(random() % 120), random);
    const auto model = MakeBpe(options).value();
    ASSERT_TRUE(model->UseRawBytes());
    for (int i = 0; i < 60; ++i) {
      const std::string text = RandomText(random, 1 + random() % 60);
      ASSERT_EQ(Encode(*model, text), Defined(options, Chars(ToByteAlphabet(text)))) << text;
    }
  }
}

TEST(Bpe, CutsCharactersOnlyWhereNoMergeJoins) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    BpeOptions options;
    options.byte_fallback = true;
    for (int byte = 0; byte < 256; ++byte)
      options.vocab.emplace_back(fmt::format("<0x{:02X}>", byte), byte);
    std::vector<std::vector<std::string>> texts;
    for (int i = 0; i < 20; ++i) texts.push_back(Chars(RandomText(random, 30)));
    for (const auto& text : texts) {
      for (const std::string& c : text) {
        const auto known = [&](const auto& entry) { return entry.first == c; };
        if (std::none_of(options.vocab.begin(), options.vocab.end(), known)) {
          options.vocab.emplace_back(c, static_cast<TokenId>(options.vocab.size()));
        }
      }
    }
    AddRandomMerges(options, texts, 5 + static_cast<int>(random() % 120), random);
    const auto model = MakeBpe(options).value();
    for (int i = 0; i < 60; ++i) {
      const std::string text = RandomText(random, 1 + random() % 60);
      ASSERT_EQ(Encode(*model, text), Defined(options, Chars(text))) << text;
    }
  }
}

TEST(Bpe, ALongWordIsEncodedAsAShortOne) {
  BpeOptions options;
  options.vocab = {{"a", 0}, {"aa", 1}, {"aaaa", 2}, {"b", 3}, {"ab", 4}};
  options.merges = {{"a", "a"}, {"aa", "aa"}, {"a", "b"}};
  const auto model = MakeBpe(options).value();
  for (const std::size_t length : {1, 2, 3, 47, 48, 49, 50, 97, 1000}) {
    const std::string word = std::string(length, 'a') + "b";
    ASSERT_EQ(Encode(*model, word), Defined(options, Chars(word))) << length;
  }
}

TEST(Bpe, UnknownCharacters) {
  BpeOptions options;
  options.vocab = {{"<unk>", 0}, {"a", 1}};
  options.unk_token = "<unk>";
  EXPECT_EQ(Encode(*MakeBpe(options).value(), "xya"), (std::vector<TokenId>{0, 0, 1}));
  options.fuse_unk = true;
  EXPECT_EQ(Encode(*MakeBpe(options).value(), "xya"), (std::vector<TokenId>{0, 1}));
  options.unk_token.reset();
  EXPECT_EQ(Encode(*MakeBpe(options).value(), "xya"), (std::vector<TokenId>{1}));
}

TEST(Bpe, IgnoresMergesForWholeWordsOnly) {
  BpeOptions options;
  options.vocab = {{"a", 0}, {"b", 1}, {"ab", 2}};
  options.ignore_merges = true;
  const auto model = MakeBpe(options).value();
  EXPECT_EQ(Encode(*model, "ab"), (std::vector<TokenId>{2}));
  EXPECT_EQ(Encode(*model, "abb"), (std::vector<TokenId>{0, 1, 1}));
}

}  // namespace
}  // namespace tonnage
