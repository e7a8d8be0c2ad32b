#include "loadgen/run/interrupt.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace volvox {
namespace {

void wait_for(const std::stop_token& token) {
  for (int i = 0; i < 2000 && !token.stop_requested(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(Interrupt, ASignalIsAStopRequest) {
  InterruptWatch watch;
  EXPECT_FALSE(watch.token().stop_requested());
  kill(getpid(), SIGTERM);
  wait_for(watch.token());
  EXPECT_TRUE(watch.token().stop_requested());
}

TEST(Interrupt, EndsWithoutASignal) {
  for (int i = 0; i < 3; ++i) InterruptWatch watch;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGINT)) << "the mask is as it was";
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        InterruptWatch watch;
        kill(getpid(), SIGTERM);
        wait_for(watch.token());
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::seconds(10));
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace volvox
