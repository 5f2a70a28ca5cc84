#include "engine/kv_pages.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/random.h"

namespace tonnage {
namespace {

TEST(KvPagePool, ReservesTheWorstCaseAndGivesItBack) {
  KvPagePool pages(2, 200);  // four pages a slot
  EXPECT_EQ(pages.free_pages(), 8);
  {
    auto a = pages.Reserve(65);
    ASSERT_TRUE(a.has_value());
    EXPECT_EQ(pages.free_pages(), 6);
    const auto row = pages.table().subspan(static_cast<size_t>(a->slot()) * 4, 4);
    EXPECT_TRUE(row[0] >= 0 && row[1] >= 0 && row[0] != row[1]);
    EXPECT_TRUE(row[2] == -1 && row[3] == -1);
    auto b = pages.Reserve(200);
    ASSERT_TRUE(b.has_value());
    EXPECT_FALSE(pages.Reserve(1).has_value());  // no slot is left, though pages are
    KvReservation moved = std::move(*b);
    EXPECT_EQ(pages.free_slots(), 0);
  }
  EXPECT_EQ(pages.free_slots(), 2);
  EXPECT_EQ(pages.free_pages(), 8);
}

TEST(KvPagePool, NoPageIsEverHeldTwice) {
  KvPagePool pages(5, 640);
  std::vector<KvReservation> held;
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    if (auto taken = pages.Reserve(1 + static_cast<std::int64_t>(random.Next() % 640))) {
      held.push_back(std::move(*taken));
    }
    if (!held.empty() && random.Next() % 2 == 0) {
      std::swap(held[random.Next() % held.size()], held.back());
      held.pop_back();
    }
    std::set<std::int32_t> seen;
    std::int64_t used = 0;
    for (std::int32_t page : pages.table()) {
      if (page < 0) continue;
      ++used;
      ASSERT_TRUE(page < 50 && seen.insert(page).second);
    }
    ASSERT_EQ(used + pages.free_pages(), 50);
  }
}

}  // namespace
}  // namespace tonnage
