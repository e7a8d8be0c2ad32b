#include "actors/work/workload.h"

#include <memory>

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr Duration kLong = std::chrono::hours(1);

std::shared_ptr<Workload> workload() {
  auto made = std::make_shared<Workload>();
  made->set_model(0, {.alone_us = 100, .full_us = 100});
  return made;
}

TEST(WorkPlace, IsLeftOnce) {
  const auto all = workload();
  {
    WorkPlace place(all, 0, PriorityClass::kNormal, false);
    static_cast<void>(place.correct(1000, kLong));
    EXPECT_GT(all->backlog(), Duration::zero());
    place.leave();
    EXPECT_EQ(all->backlog(), Duration::zero()) << "whoever still holds it delays nobody";
    place.leave();
    static_cast<void>(place.correct(1000, kLong));
    EXPECT_EQ(all->backlog(), Duration::zero()) << "nor does it come back";
    WorkPlace other(all, 0, PriorityClass::kNormal, false);
    static_cast<void>(other.correct(1000, kLong));
    EXPECT_GT(all->backlog(), Duration::zero());
  }
  EXPECT_EQ(all->backlog(), Duration::zero());
}

}  // namespace
}  // namespace volvox
