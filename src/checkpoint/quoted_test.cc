#include "checkpoint/quoted.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Quoted, ShowsWhatIsHarmlessAsItIs) {
  EXPECT_EQ(Quoted("model.layers.0.mlp"), "`model.layers.0.mlp`");
  EXPECT_EQ(Quoted(""), "``");
  EXPECT_EQ(Quoted("Gewicht ü 重み 🙂"), "`Gewicht ü 重み 🙂`");
}

TEST(Quoted, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(Quoted("a\x1b[2J\n"), "`a\\x1b[2J\\x0a`");
  EXPECT_EQ(Quoted("\x7f"), "`\\x7f`");
  EXPECT_EQ(Quoted("\xc2\x9b"), "`\\xc2\\x9b`");  // U+009B, a one-character escape sequence
  EXPECT_EQ(Quoted("\xff\xe9\x87"), "`\\xff\\xe9\\x87`");  // no UTF-8, and a sequence that is cut
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), "`\\x00`");
}

TEST(Quoted, CutsLongNames) {
  const std::string shown = Quoted(std::string(100'000, 'x'));
  EXPECT_LT(shown.size(), 200u);
  EXPECT_TRUE(shown.ends_with("...`"));
}

}  // namespace
}  // namespace tonnage
