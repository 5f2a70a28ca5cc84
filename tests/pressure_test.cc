// Another tenant grows while a model serves: what comes is refused, what runs finishes untouched,
// and afterwards the door opens again.
#include "memory/pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/testing.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

// An engine that promised 800 of the host's 1,000 bytes, and the host's other tenant.
class TenantTest : public ::testing::Test {
 protected:
  void TenantHolds(Bytes bytes) {
    tenant_bytes_ = bytes;
    watch_.Sample();
  }
  static std::vector<std::int32_t> Read(Generation& generation) {
    std::vector<std::int32_t> tokens;
    while (const auto event = generation.Next()) {
      if (const auto* token = std::get_if<TokenEvent>(&*event)) tokens.push_back(token->token);
      if (const auto* done = std::get_if<DoneEvent>(&*event)) {
        EXPECT_FALSE(done->error);
      }
    }
    return tokens;
  }
  Request Asked(std::int32_t token) const {
    Request request{.prompt = {token}, .max_tokens = 40};
    request.sampling.temperature = 0;
    return request;
  }

  ToyBackend backend_;
  Engine engine_{ToyModel({.slots = 2}, backend_)};
  Budget budget_{1000, 100, "the host"};
  Result<Reservation> promised_ = budget_.Reserve(800);
  Bytes tenant_bytes_ = 0;
  PressureWatch watch_{
      budget_,
      [this]() -> Result<MemoryLimit> {
        return MemoryLimit{1000 - tenant_bytes_, "the RAM that is available"};
      },
      {.admissions = [this](std::optional<Error> why) { engine_.RefuseNew(std::move(why)); }}};
};

TEST_F(TenantTest, WhatRunsOrWaitsFinishesAndWhatComesIsRefusedUntilTheTenantGoes) {
  std::vector<std::vector<std::int32_t>> alone;
  for (std::int32_t token = 1; token <= 3; ++token) {
    auto generation = engine_.Start(Asked(token));
    ASSERT_TRUE(generation.ok());
    alone.push_back(Read(*generation));
    ASSERT_EQ(alone.back().size(), 40u);
  }
  // Two run, a third waits; then the tenant grows.
  backend_.control().Hold();
  std::vector<Generation> accepted;
  for (std::int32_t token = 1; token <= 3; ++token) {
    auto generation = engine_.Start(Asked(token));
    ASSERT_TRUE(generation.ok());
    accepted.push_back(std::move(*generation));
  }
  TenantHolds(300);
  EXPECT_EQ(watch_.pressure(), Pressure::kAdmissionsClosed);
  for (int i = 0; i < 3; ++i) {
    const auto refused = engine_.Start(Asked(9));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), Code::kBusy);
    EXPECT_THAT(refused.error().message(), HasSubstr("the RAM that is available leaves 700 B"));
  }
  EXPECT_EQ(engine_.Evaluate({1, 2}).error().code(), Code::kBusy);
  backend_.control().Resume();
  for (size_t i = 0; i < accepted.size(); ++i) EXPECT_EQ(Read(accepted[i]), alone[i]);

  TenantHolds(100);
  TenantHolds(100);
  EXPECT_EQ(engine_.Start(Asked(1)).error().code(), Code::kBusy) << "not at the first good look";
  TenantHolds(100);
  auto after = engine_.Start(Asked(1));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(Read(*after), alone[0]);
}

// However the tenant moves: what was accepted ends as it would have alone, and what was refused was
// refused while the door was closed.
TEST_F(TenantTest, ATenantThatComesAndGoesHarmsNothing) {
  auto first = engine_.Start(Asked(5));
  const std::vector<std::int32_t> alone = Read(*first);
  int refused = 0, served = 0;
  for (int round = 0; round < 60; ++round) {
    TenantHolds(round % 10 < 5 ? 0 : 250);
    auto generation = engine_.Start(Asked(5));
    EXPECT_EQ(generation.ok(), watch_.pressure() != Pressure::kAdmissionsClosed);
    if (!generation.ok()) {
      ++refused;
      continue;
    }
    TenantHolds(round % 3 == 0 ? 900 : 0);  // in the midst of the answer
    EXPECT_EQ(Read(*generation), alone);
    ++served;
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(served, 3);
}

}  // namespace
}  // namespace tonnage
