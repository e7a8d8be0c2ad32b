#include "batching/waiting_rooms.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr ModelId kFull = 0, kLight = 1;
constexpr auto kHigh = PriorityClass::kHigh, kNormal = PriorityClass::kNormal, kLow = PriorityClass::kLow;

// Rooms before memory that is counted in slots, by model.
class Rooms {
 public:
  explicit Rooms(std::uint32_t max_overtake = 16) : rooms(max_overtake) {}

  void come(std::uint32_t request, ModelId model, std::uint32_t slots, PriorityClass priority = kNormal,
            std::uint64_t client = 0, std::uint32_t rows = 1) {
    wants_[request] = {model, slots};
    rooms.push({request, model, priority, client, 16, rows});
  }
  void free(ModelId model, std::uint32_t slots) {
    memory[model] += slots;
    rooms.reopen(model);
  }
  // Those who are let in, in order.
  std::vector<std::uint32_t> admit() {
    asked.clear();
    std::vector<std::uint32_t> in;
    const auto enter = [&](std::uint32_t request) {
      asked.push_back(request);
      const auto [model, slots] = wants_.at(request);
      if (memory[model] < slots) return false;
      memory[model] -= slots;
      in.push_back(request);
      return true;
    };
    const std::size_t entered = rooms.admit(enter, [](std::uint32_t) {});
    EXPECT_EQ(entered, in.size());
    return in;
  }

  WaitingRooms rooms;
  std::map<ModelId, std::uint32_t> memory;
  std::vector<std::uint32_t> asked;  // in the last admit(), also those who did not fit

 private:
  struct Wants {
    ModelId model;
    std::uint32_t slots;
  };
  std::map<std::uint32_t, Wants> wants_;
};

using List = std::vector<std::uint32_t>;

TEST(WaitingRooms, LetInByClassAndThenByArrival) {
  Rooms door;
  door.memory[kFull] = 100;
  door.come(1, kFull, 1, kLow);
  door.come(2, kFull, 1);
  door.come(3, kFull, 1, kHigh);
  door.come(4, kFull, 1);
  door.come(5, kFull, 1, kHigh);
  EXPECT_EQ(door.rooms.size(), 5U);
  EXPECT_EQ(door.admit(), (List{3, 5, 2, 4, 1}));
  EXPECT_EQ(door.rooms.size(), 0U);
  EXPECT_TRUE(door.admit().empty());
}

TEST(WaitingRooms, OneModelsFullMemoryHoldsUpNobodyElse) {
  Rooms door;
  door.memory[kLight] = 10;
  for (std::uint32_t r = 0; r < 100; ++r) door.come(r, kFull, 1);
  EXPECT_TRUE(door.admit().empty());
  door.come(200, kLight, 1);
  EXPECT_EQ(door.admit(), (List{200})) << "although nothing came back, and a hundred wait before it";
  EXPECT_EQ(door.asked, (List{200})) << "and the full model's line was not walked again";
  door.come(201, kLight, 1);
  EXPECT_EQ(door.admit(), (List{201}));
}

TEST(WaitingRooms, AnUrgentRequestIsTriedAtOnceWhereNormalOnesWait) {
  Rooms door;
  door.memory[kFull] = 1;
  door.come(1, kFull, 2);
  EXPECT_TRUE(door.admit().empty());
  door.come(2, kFull, 1);  // behind another of its class: not before something changes
  EXPECT_TRUE(door.admit().empty());
  EXPECT_TRUE(door.asked.empty());
  door.come(3, kFull, 1, kHigh);
  EXPECT_EQ(door.admit(), (List{3}));
}

TEST(WaitingRooms, AnUrgentRequestIsNextWhenMemoryComesBack) {
  Rooms door;
  for (std::uint32_t r = 0; r < 50; ++r) door.come(r, kFull, 1);
  EXPECT_TRUE(door.admit().empty());
  door.come(100, kFull, 1, kHigh);
  EXPECT_TRUE(door.admit().empty());
  door.free(kFull, 1);
  EXPECT_EQ(door.admit(), (List{100}));
  door.free(kFull, 1);
  EXPECT_EQ(door.admit(), (List{0}));
}

TEST(WaitingRooms, SmallOnesPassALargeOneBoundedly) {
  Rooms door(3);
  door.memory[kFull] = 1;
  door.come(1, kFull, 2);
  for (std::uint32_t r = 10; r < 20; ++r) door.come(r, kFull, 1);
  EXPECT_EQ(door.admit(), (List{10}));
  door.free(kFull, 1);
  EXPECT_EQ(door.admit(), (List{11}));
  door.free(kFull, 1);
  EXPECT_EQ(door.admit(), (List{12}));
  door.free(kFull, 1);
  EXPECT_TRUE(door.admit().empty()) << "three have passed it";
  EXPECT_EQ(door.asked, (List{1}));
  door.free(kFull, 1);
  EXPECT_EQ(door.admit(), (List{1}));
}

TEST(WaitingRooms, LooksNoFurtherThanSoManyWhoDoNotFit) {
  Rooms door(3);
  for (std::uint32_t r = 0; r < 10; ++r) door.come(r, kFull, 2);
  EXPECT_TRUE(door.admit().empty());
  EXPECT_EQ(door.asked, (List{0, 1, 2, 3}));
}

TEST(WaitingRooms, WhoGoesAwayBarsNobody) {
  Rooms door(1);
  door.memory[kFull] = 1;
  door.come(1, kFull, 2);
  door.come(2, kFull, 2);
  door.come(3, kFull, 1);
  EXPECT_TRUE(door.admit().empty()) << "two do not fit, and no more are asked";
  door.rooms.remove(1);
  EXPECT_EQ(door.admit(), (List{3}));
  door.rooms.remove(2);
  EXPECT_EQ(door.rooms.size(), 0U);
  EXPECT_TRUE(door.admit().empty());
}

TEST(WaitingRooms, WhoIsRaisedCompetesThereAndStaysPassed) {
  Rooms door(2);
  door.memory[kFull] = 1;
  door.come(1, kFull, 2);
  door.come(2, kFull, 1);
  EXPECT_EQ(door.admit(), (List{2}));
  door.come(3, kFull, 2, kHigh);
  door.rooms.change_class(1, 0, kHigh);
  door.free(kFull, 1);
  EXPECT_TRUE(door.admit().empty());
  EXPECT_EQ(door.asked, (List{3, 1}));
  door.rooms.remove(3);
  door.come(4, kFull, 1);
  EXPECT_EQ(door.admit(), (List{4})) << "the second to pass it";
  door.come(5, kFull, 1);
  door.free(kFull, 1);
  EXPECT_TRUE(door.admit().empty());
  EXPECT_EQ(door.asked, (List{1}));
}

TEST(WaitingRooms, LetInNoMoreThanBeginWhileTheOthersWait) {
  Rooms door;
  door.memory[kFull] = door.memory[kLight] = 100;
  door.rooms.set_most(kFull, 2);
  for (std::uint32_t r = 0; r < 6; ++r) door.come(r, kFull, 1);
  EXPECT_EQ(door.admit(), (List{0, 1}));
  EXPECT_TRUE(door.admit().empty());
  EXPECT_TRUE(door.asked.empty()) << "nothing has changed";
  door.come(10, kLight, 1);
  EXPECT_EQ(door.admit(), (List{10})) << "another model's bound is its own";
  door.rooms.moved_on(0);
  EXPECT_EQ(door.admit(), (List{2}));
  door.rooms.remove(5);
  door.rooms.came_in(5);
  door.rooms.moved_on(1);
  EXPECT_TRUE(door.admit().empty());
  door.rooms.moved_on(2);
  door.rooms.moved_on(5);
  EXPECT_EQ(door.admit(), (List{3, 4}));
}

TEST(WaitingRooms, WhoFillsManyRowsKeepsTheOthersWaiting) {
  Rooms door;
  door.memory[kFull] = 100;
  door.rooms.set_most(kFull, 8);
  for (std::uint32_t r = 0; r < 4; ++r) door.come(r, kFull, 1, kNormal, 1, 100);
  door.come(10, kFull, 1, kNormal, 2);
  EXPECT_EQ(door.admit(), (List{0}));
  door.rooms.moved_on(0);
  EXPECT_EQ(door.admit(), (List{1}));
  door.rooms.change_class_inside(1, kHigh);
  EXPECT_TRUE(door.admit().empty()) << "it still fills the batches";
  door.rooms.moved_on(1);
  EXPECT_EQ(door.admit(), (List{10, 2})) << "two of 16 cells make a round; the other client's next";
}

TEST(WaitingRooms, WhoIsInHoldsUpNobodyOfAHigherClassButThoseOfLowerOnes) {
  Rooms door;
  door.memory[kFull] = 100;
  door.rooms.set_most(kFull, 2);
  for (std::uint32_t r = 0; r < 4; ++r) door.come(r, kFull, 1);
  EXPECT_EQ(door.admit(), (List{0, 1}));
  for (std::uint32_t r = 10; r < 13; ++r) door.come(r, kFull, 1, kHigh);
  door.come(20, kFull, 1, kLow);
  EXPECT_EQ(door.admit(), (List{10, 11}));
  door.rooms.moved_on(0);
  door.rooms.moved_on(1);
  EXPECT_TRUE(door.admit().empty()) << "there is enough to run that is more urgent";
  door.rooms.moved_on(10);
  EXPECT_EQ(door.admit(), (List{12}));
}

TEST(WaitingRooms, ClientsTakeTurnsWithinAClass) {
  Rooms door;
  door.rooms.set_most(kFull, 1);
  door.memory[kFull] = 100;
  for (std::uint32_t r = 0; r < 10; ++r) door.come(r, kFull, 1, kNormal, 1);
  for (std::uint32_t r = 10; r < 20; ++r) door.come(r, kFull, 1, kNormal, 2);
  door.come(30, kFull, 1, kHigh, 1);
  EXPECT_EQ(door.rooms.clients(), 3U);
  List in;
  for (int i = 0; i < 9; ++i) {
    for (const std::uint32_t r : door.admit()) in.push_back(r);
    door.rooms.moved_on(in.back());
  }
  EXPECT_EQ(in, (List{30, 0, 1, 10, 11, 2, 3, 12, 13})) << "two of 16 cells each make a round";
}

// Whose turn it is when memory is short keeps the turn, and is passed by only so many others.
TEST(WaitingRooms, ALargeRequestOfOneClientIsNotPassedForEverByThoseOfAnother) {
  Rooms door(3);
  door.come(1, kFull, 2, kNormal, 1);
  std::uint32_t passed = 0;
  for (std::uint32_t r = 10; r < 40; ++r) {
    door.come(r, kFull, 1, kNormal, 2);
    door.free(kFull, 1);
    const List in = door.admit();
    if (in == List{1}) break;
    passed += static_cast<std::uint32_t>(in.size());
  }
  EXPECT_LE(passed, 4U);
  EXPECT_EQ(door.memory[kFull], 0U);
}

// Where models share their memory, whatever comes back may be for any of them, and none is always first.
TEST(WaitingRooms, ModelsTakeTurns) {
  Rooms door;
  std::map<std::uint32_t, int> first;
  for (std::uint32_t r = 0; r < 30; ++r) door.come(r, r % 3, 1);
  door.admit();
  for (int round = 0; round < 9; ++round) {
    door.rooms.reopen_all();
    door.admit();
    ASSERT_FALSE(door.asked.empty());
    ++first[door.asked[0] % 3];
  }
  EXPECT_EQ(first, (std::map<std::uint32_t, int>{{0, 3}, {1, 3}, {2, 3}}));
}

}  // namespace
}  // namespace volvox
