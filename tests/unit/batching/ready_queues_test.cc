#include "batching/ready_queues.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

ReadyQueues::Entry entry(std::uint32_t request, WorkerId place, std::uint32_t ready,
                         PriorityClass priority = PriorityClass::kNormal) {
  ReadyQueues::Entry made;
  made.request = request;
  made.place = place;
  made.ready = ready;
  made.priority = priority;
  return made;
}

TEST(ReadyQueues, ServesOwnEntriesBeforeAnyonesAndHighClassesFirst) {
  ReadyQueues queues(1, 2);
  queues.push_back(entry(1, queues.any(), 1));
  const EntryId own = queues.push_back(entry(2, 0, 1));
  EXPECT_EQ(queues[queues.first(0, 0)].request, 2U);
  EXPECT_EQ(queues[queues.first(0, 1)].request, 1U);
  queues.push_back(entry(3, queues.any(), 1, PriorityClass::kHigh));
  EXPECT_EQ(queues[queues.first(0, 0)].request, 3U);
  queues.erase(own);
  EXPECT_EQ(queues.count(0, 0), 0U);
}

TEST(ReadyQueues, CountsFollowEveryMove) {
  ReadyQueues queues(2, 2);
  const EntryId a = queues.push_back(entry(1, queues.any(), 5));
  queues.push_back(entry(2, queues.any(), 2, PriorityClass::kLow));
  EXPECT_EQ(queues.count(0, queues.any()), 7U);
  EXPECT_EQ(queues.count(0, queues.any(), PriorityClass::kLow), 2U);
  queues.move(a, 1);
  EXPECT_EQ(queues.count(0, queues.any()), 2U);
  EXPECT_EQ(queues.count_at(1), 5U);
  queues.set_ready(a, 1);
  EXPECT_EQ(queues.count_at(1), 1U);
  queues.erase(a);
  EXPECT_EQ(queues.count_at(1), 0U);
  EXPECT_EQ(queues.first(0, 1), queues.first(0, 0));
}

TEST(ReadyQueues, KeepsOrderWithinAPlace) {
  ReadyQueues queues(1, 1);
  queues.push_back(entry(1, 0, 1));
  const EntryId second = queues.push_back(entry(2, 0, 1));
  queues.push_front(entry(0, 0, 1));
  queues.erase(second);
  queues.push_back(entry(3, 0, 1));
  std::vector<std::uint32_t> order;
  for (EntryId id; (id = queues.first(0, 0)) != kNoEntry; queues.erase(id))
    order.push_back(queues[id].request);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 3}));
}

TEST(ReadyQueues, LeavesOutWhatWasQueuedInTheSameTurn) {
  ReadyQueues queues(1, 1);
  const EntryId old = queues.push_back(entry(1, 0, 1));
  queues.push_back(entry(2, queues.any(), 1));
  queues.begin_turn();
  EXPECT_EQ(queues[queues.first_of_earlier(0, 0)].request, 1U);
  queues.requeue(old, 3, TimePoint{});
  EXPECT_EQ(queues.count(0, 0), 3U);
  EXPECT_EQ(queues[queues.first_of_earlier(0, 0)].request, 2U);
  queues.erase(queues.first_of_earlier(0, 0));
  EXPECT_EQ(queues.first_of_earlier(0, 0), kNoEntry);
  EXPECT_EQ(queues.first(0, 0), old);
  queues.begin_turn();
  EXPECT_EQ(queues.first_of_earlier(0, 0), old);
}

}  // namespace
}  // namespace volvox
