// What schedulers and the manager are asked for the sake of pages, which strangers may want as often as they
// like.

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using testing::StartsWith;

constexpr int kAskers = 32;
// One, where the machine is not busy; were each asked for itself, there would be as many as askers.
constexpr int kFewQuestions = kAskers / 2;

// Counts the questions, and holds whoever is asked up at the first until many want to know.
class Questions {
 public:
  FaultHooks heard_by(std::function<void()> FaultHooks::*hook) {
    FaultHooks faults;
    faults.*hook = [this] {
      if (count_++ > 0) return;
      first_.set_value();
      let_go_.get_future().wait();
    };
    return faults;
  }
  // How many there are when so many ask, all of them before the first question is answered.
  int when_many(const std::function<void()>& ask) {
    {
      std::latch ready(kAskers - 1);
      std::vector<std::jthread> askers;
      askers.emplace_back(ask);
      EXPECT_EQ(first_.get_future().wait_for(kLongEnough), std::future_status::ready) << "nobody was asked";
      for (int i = 1; i < kAskers; ++i) {
        askers.emplace_back([&] {
          ready.count_down();
          ask();
        });
      }
      ready.wait();
      let_go_.set_value();
    }
    return count_;
  }

 private:
  std::atomic<int> count_{0};
  std::promise<void> first_, let_go_;
};

TEST(HttpQuestions, MetricsAskASchedulerOnceForMany) {
  Questions questions;
  const House house(loopback(), TimedCost{0, 0}, questions.heard_by(&FaultHooks::scheduler_asked));
  const auto ask = [&] { EXPECT_EQ(house.monitor.metrics_page().status, 200); };
  EXPECT_LE(questions.when_many(ask), kFewQuestions);
}

TEST(HttpQuestions, StatisticsOfAModelAskASchedulerOnceForMany) {
  Questions questions;
  const House house(with_http(), TimedCost{0, 0}, questions.heard_by(&FaultHooks::scheduler_asked));
  const auto ask = [&] { EXPECT_THAT(get(house, "/v2/models/check/stats"), StartsWith("HTTP/1.1 200 ")); };
  EXPECT_LE(questions.when_many(ask), kFewQuestions);
}

TEST(HttpQuestions, ProbesAskTheManagerOnceForMany) {
  Questions questions;
  const House house(loopback(), TimedCost{0, 0}, questions.heard_by(&FaultHooks::manager_asked));
  // That it answers late is no matter here.
  EXPECT_LE(questions.when_many([&] { house.monitor.health_page(); }), kFewQuestions);
}

}  // namespace
}  // namespace volvox
