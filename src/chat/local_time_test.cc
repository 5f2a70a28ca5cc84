#include "chat/local_time.h"

#include <gtest/gtest.h>

namespace tonnage::chat {
namespace {

TEST(LocalTime, ReadsDatesWithAndWithoutTimes) {
  EXPECT_EQ(FormatLocalTime(*ParseLocalTime("2026-11-29"), "%Y-%m-%d %H:%M:%S"),
            "2026-11-29 00:00:00");
  EXPECT_EQ(FormatLocalTime(*ParseLocalTime("2026-11-29T16:20"), "%H:%M"), "16:20");
  EXPECT_EQ(FormatLocalTime(*ParseLocalTime("2024-02-29 23:59:58.25"), "%d %S %f %j"),
            "29 58 250000 060");
}

TEST(LocalTime, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026", "2026-13-01", "2026-02-29", "2026-1-1", "2026-01-01T", "2026-01-01T24:00",
        "2026-01-01T10:60", "2026-01-01T10:00Z", "0000-01-01"}) {
    EXPECT_FALSE(ParseLocalTime(text).ok()) << text;
  }
}

TEST(LocalTime, FormatsAsTheCLocaleDoes) {
  const LocalTime time = *ParseLocalTime("2026-11-29T16:20:05");
  EXPECT_EQ(FormatLocalTime(time, "%A %a %B %b %e %I %p %y %%"),
            "Sunday Sun November Nov 29 04 PM 26 %");
  EXPECT_EQ(FormatLocalTime(time, "%Y年%m月"), "2026年11月");
  EXPECT_EQ(FormatLocalTime(time, "[%z%Z]"), "[]");
  EXPECT_EQ(FormatLocalTime(time, "50%"), "50%");
}

}  // namespace
}  // namespace tonnage::chat
