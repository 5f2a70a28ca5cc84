#include "checkpoint/hub/blocks.h"

#include <gtest/gtest.h>

namespace tonnage::hub {
namespace {

TEST(BlocksTest, TheLastBlockIsShort) {
  Blocks blocks(25, 10);
  ASSERT_EQ(blocks.count(), 3);
  EXPECT_EQ(blocks.first(2), 20);
  EXPECT_EQ(blocks.end(1), 20);
  EXPECT_EQ(blocks.end(2), 25);
  blocks.MarkDone(2);
  EXPECT_EQ(blocks.done_bytes(), 5);
  EXPECT_FALSE(blocks.all_done());
  blocks.MarkDone(0);
  blocks.MarkDone(1);
  EXPECT_TRUE(blocks.all_done());
  EXPECT_EQ(blocks.done_bytes(), 25);
  EXPECT_EQ(Blocks(0, 10).count(), 0);
  EXPECT_TRUE(Blocks(0, 10).all_done());
}

TEST(BlocksTest, TheJournalSurvivesAnyCut) {
  const std::string journal = Blocks(100, 10).JournalHead() + "3\n0\n9\n1";
  const Blocks blocks = Blocks::FromJournal(journal, 100, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(blocks.done(i), i == 0 || i == 3 || i == 9) << i;
  for (size_t cut = 0; cut <= journal.size(); ++cut) {
    const Blocks shorter = Blocks::FromJournal(journal.substr(0, cut), 100, 10);
    for (int i = 0; i < 10; ++i) EXPECT_LE(shorter.done(i), blocks.done(i)) << cut;
  }
}

TEST(BlocksTest, WhatCannotBeIsNotBelieved) {
  const std::string head = Blocks(100, 10).JournalHead();
  for (const std::string& journal :
       {std::string(), std::string("nonsense\n1\n"), head + "-1\n2\n", head + "10\n2\n",
        head + "1x\n2\n", head + "99999999999999999999\n2\n", head + "\n2\n"}) {
    EXPECT_EQ(Blocks::FromJournal(journal, 100, 10).done_bytes(), 0) << journal;
  }
  EXPECT_EQ(Blocks::FromJournal(head + "1\n", 101, 10).done_bytes(), 0) << "another file";
  EXPECT_EQ(Blocks::FromJournal(head + "1\n", 100, 20).done_bytes(), 0) << "other blocks";
}

}  // namespace
}  // namespace tonnage::hub
