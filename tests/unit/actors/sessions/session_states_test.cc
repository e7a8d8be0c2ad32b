#include "actors/sessions/session_states.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

constexpr std::uint32_t kPlaces = 4;

NodeDevicePtr device_with_places(std::uint32_t number) {
  auto device = std::make_shared<NodeDevice>();
  device->number = number;
  device->device = held_device();
  device->session_places = std::make_shared<SessionPlaces>(kPlaces);
  return device;
}

// Of one lane that rotates through two rows.
ModelPtr model_of_a_chain(std::uint64_t serial, std::uint32_t places = kPlaces) {
  auto model = std::make_shared<Model>();
  model->pools.emplace_back();
  auto installed = std::make_shared<InstalledModel>();
  installed->model = std::move(model);
  installed->serial = serial;
  installed->sessions = {true, places, {{0, 0, 100, 2}}};
  return installed;
}

std::uint32_t left_of(const std::shared_ptr<NumberLender>& lender) {
  std::vector<LentNumber> taken;
  while (LentNumber slot = lender->take(2 * kPlaces)) taken.push_back(std::move(slot));
  return static_cast<std::uint32_t>(taken.size());
}

class SessionStatesTest : public testing::Test {
 protected:
  // As a part does of the session whose place has its number, from one side of it into the other.
  Result<SessionStates::Rows> begin(std::uint32_t session, std::uint32_t steps = 1) {
    const StateSlot into = 2 * session + sides_[session];
    const StateSlot from = began_[session] ? into ^ 1U : kInitialState;
    return states_.rows({session, 0}, model_, from, into, steps, wanted_);
  }
  void commit(std::uint32_t session) {
    states_.keep_only({session, 0}, 2 * session + sides_[session]);
    sides_[session] ^= 1U;
    began_[session] = true;
  }

  const std::vector<NodeDevicePtr> devices_{device_with_places(0), device_with_places(1)};
  std::uint32_t slots_left(std::uint32_t device = 0) const {
    return left_of(devices_[device]->session_places->slots_of(model_->serial, kPlaces));
  }

  ModelPtr model_ = model_of_a_chain(1);
  SessionStates states_{devices_, kPlaces, 1 << 20};
  std::vector<std::uint32_t> wanted_{0};
  std::uint32_t sides_[kPlaces] = {};
  bool began_[kPlaces] = {};
};

TEST_F(SessionStatesTest, ASessionHoldsOneSlotBetweenItsParts) {
  for (int part = 0; part < 5; ++part) {
    for (std::uint32_t session = 0; session < 3; ++session) {
      const auto rows = begin(session);
      ASSERT_TRUE(rows);
      EXPECT_EQ(rows->from.has_value(), part > 0);
      EXPECT_EQ(rows->lent.from != nullptr, part > 0) << "nobody else writes there meanwhile";
      commit(session);
    }
  }
  EXPECT_EQ(slots_left(), 2 * kPlaces - 3 - 1) << "one each, and one for the part that ran";
}

TEST_F(SessionStatesTest, APartGoesOnFromWhereTheOneBeforeItLeft) {
  std::uint32_t left = 0;
  for (int part = 0; part < 6; ++part) {
    const auto rows = begin(0, 1 + part % 3);
    ASSERT_TRUE(rows);
    if (part > 0) {
      ASSERT_TRUE(rows->from);
      EXPECT_EQ(rows->from->slot, left);
      EXPECT_NE(*rows->lent.into, left);
    }
    left = *rows->lent.into;
    commit(0);
  }
}

TEST_F(SessionStatesTest, AllMayRunAtOncePartsOfAnyLength) {
  std::vector<SessionStates::Rows> running;
  for (int part = 0; part < 3; ++part) {
    for (std::uint32_t session = 0; session < kPlaces; ++session) {
      auto rows = begin(session, 2);
      ASSERT_TRUE(rows) << session << ": " << rows.error().message;
      running.push_back(std::move(*rows));
    }
    running.clear();
    for (std::uint32_t session = 0; session < kPlaces; ++session) commit(session);
  }
}

// Its session may be lost long before the task has ended.
TEST_F(SessionStatesTest, WhatATaskMayStillWriteIsNotLentAgain) {
  auto running = begin(0);
  ASSERT_TRUE(running);
  const std::uint32_t written = *running->lent.into;
  states_.free({0, 0}, 0);
  for (std::uint32_t session = 1; session < kPlaces; ++session) {
    const auto rows = begin(session);
    ASSERT_TRUE(rows);
    EXPECT_NE(*rows->lent.into, written);
    commit(session);
  }
  running = fail(ErrorCode::kInternal, "has ended");
  for (std::uint32_t session = 1; session < kPlaces; ++session) states_.free({session, 0}, 2 * session);
  EXPECT_GE(slots_left(), kPlaces);
}

TEST_F(SessionStatesTest, AModelWithFewerPlacesGetsItsOwn) {
  ASSERT_TRUE(begin(0));
  commit(0);
  states_.free({0, 0}, 0);  // one of the highest, which others have no rows for
  model_ = model_of_a_chain(2, 1);
  began_[0] = false;
  const auto rows = begin(1);
  ASSERT_TRUE(rows);
  EXPECT_LT(*rows->lent.into, 2U);
  EXPECT_FALSE(begin(2)) << "it has room for one";
  commit(1);
  EXPECT_TRUE(begin(1)) << "that goes on";
}

// Each needs but one slot between its parts, but all must be able to go on.
TEST_F(SessionStatesTest, ADeviceTakesNoMoreSessionsThanItHasPlaces) {
  wanted_ = {0, 1};
  SessionStates states{devices_, 2 * kPlaces, 1 << 20};
  for (std::uint32_t session = 0; session < 2 * kPlaces; ++session) {
    ASSERT_TRUE(states.rows({session, 0}, model_, kInitialState, 2 * session, 1, wanted_));
    EXPECT_EQ(states.device_of(2 * session), session / kPlaces);
  }
}

TEST_F(SessionStatesTest, AStateThatMovedLeavesNothingBehind) {
  ASSERT_TRUE(begin(0));
  commit(0);
  const StateSlot state = sides_[0] ^ 1U;
  const StateCopyPtr copy = states_.move({0, 0}, state, 1);
  ASSERT_TRUE(copy);
  copy->made = true;
  states_.ended(*copy);
  EXPECT_EQ(states_.device_of(state), 1U);
  const auto rows = begin(0);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(rows->from);
  EXPECT_NE(*rows->lent.into, rows->from->slot);
  commit(0);
  EXPECT_EQ(slots_left(1), 2 * kPlaces - 2);
  states_.free({0, 0}, 0);
  EXPECT_FALSE(states_.device_of(0));
}

}  // namespace
}  // namespace volvox
