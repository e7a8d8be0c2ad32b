#include "cpu/team/wake_place.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace volvox::cpu {
namespace {

cpu_set_t allowed_to(pthread_t thread) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof allowed, &allowed), 0);
  return allowed;
}

// A thread that says that it sleeps, and is awake again when told.
struct Sleeper {
  WakePlace place;
  std::atomic<bool> asleep{false}, wake{false}, awake{false}, end{false};
  std::thread thread{[this] {
    place.sleeps();
    asleep = true;
    asleep.notify_one();
    wake.wait(false);
    place.is_awake();
    awake = true;
    awake.notify_one();
    end.wait(false);
  }};
  ~Sleeper() {
    set(wake);
    set(end);
    thread.join();
  }
  static void set(std::atomic<bool>& flag) {
    flag = true;
    flag.notify_one();
  }
};

TEST(WakePlace, ASleeperWakesElsewhereAndMayThenRunAnywhere) {
  const cpu_set_t all = allowed_to(pthread_self());
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor only";
  Sleeper sleeper;
  sleeper.asleep.wait(false);
  sleeper.place.keep_away_from_here(sleeper.thread.native_handle());
  const cpu_set_t others = allowed_to(sleeper.thread.native_handle());
  EXPECT_EQ(CPU_COUNT(&others), CPU_COUNT(&all) - 1);
  sleeper.place.keep_away_from_here(sleeper.thread.native_handle());  // what is restored is what was first
  Sleeper::set(sleeper.wake);
  sleeper.awake.wait(false);
  const cpu_set_t after = allowed_to(sleeper.thread.native_handle());
  EXPECT_TRUE(CPU_EQUAL(&after, &all));
}

TEST(WakePlace, OneThatIsAwakeStaysAsItIs) {
  const cpu_set_t all = allowed_to(pthread_self());
  Sleeper sleeper;
  Sleeper::set(sleeper.wake);
  sleeper.awake.wait(false);
  sleeper.place.keep_away_from_here(sleeper.thread.native_handle());
  const cpu_set_t after = allowed_to(sleeper.thread.native_handle());
  EXPECT_TRUE(CPU_EQUAL(&after, &all));
}

// Whoever may run on this core alone still does.
TEST(WakePlace, TheOnlyCoreIsNotTaken) {
  Sleeper sleeper;
  sleeper.asleep.wait(false);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  const cpu_set_t all = allowed_to(pthread_self());
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
  ASSERT_EQ(pthread_setaffinity_np(sleeper.thread.native_handle(), sizeof one, &one), 0);
  sleeper.place.keep_away_from_here(sleeper.thread.native_handle());
  const cpu_set_t after = allowed_to(sleeper.thread.native_handle());
  EXPECT_TRUE(CPU_EQUAL(&after, &one));
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof all, &all), 0);
}

}  // namespace
}  // namespace volvox::cpu
