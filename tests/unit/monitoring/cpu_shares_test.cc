#include "monitoring/metrics/cpu_shares.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

EngineSnapshot engine(const std::string& device, double cpu_kernel_seconds) {
  EngineSnapshot snapshot;
  snapshot.device = device;
  snapshot.cpu_kernel_seconds = cpu_kernel_seconds;
  return snapshot;
}

class CpuSharesTest : public testing::Test {
 protected:
  // All seconds are halves and wholes, so that their sums are exact.
  void expect(const std::vector<EngineSnapshot>& engines, double process, double inside, double outside) {
    shares_.update(engines, process);
    EXPECT_EQ(shares_.inside(), inside);
    EXPECT_EQ(shares_.outside(), outside);
  }

  CpuShares shares_;
};

TEST_F(CpuSharesTest, WhatIsNotInsideIsOutside) {
  expect({}, 1, 0, 1);
  expect({engine("a", 2), engine("b", 3)}, 7, 5, 2);
  expect({engine("a", 4), engine("b", 3.5)}, 10, 7.5, 2.5);
}

TEST_F(CpuSharesTest, OneThatMissesAnUpdateChangesNothing) {
  expect({engine("a", 2), engine("b", 4)}, 7, 6, 1);
  expect({engine("a", 3)}, 12, 7, 1);
  expect({engine("a", 4), engine("b", 10)}, 16, 14, 2);
}

TEST_F(CpuSharesTest, OneThatStaysAwayKeepsWhatItHadAndTheRestGoesOn) {
  expect({engine("a", 2), engine("b", 4)}, 7, 6, 1);
  expect({engine("a", 2)}, 9, 6, 1);
  expect({engine("a", 2)}, 11, 6, 5);
  expect({engine("a", 2), engine("b", 8)}, 12, 10, 5);  // it was there all the time: nothing falls
  expect({engine("a", 2), engine("b", 8)}, 16, 10, 6);
}

TEST_F(CpuSharesTest, OneThatBeginsAnewIsAdded) {
  expect({engine("a", 4), engine("b", 4)}, 9, 8, 1);
  expect({engine("a", 1), engine("b", 4)}, 11, 9, 2);
  expect({engine("a", 2), engine("b", 4)}, 13, 10, 3);
  expect({engine("a", 0), engine("b", 4)}, 14, 10, 4);
}

TEST_F(CpuSharesTest, ClocksThatDisagreeMakeNothingFall) {
  expect({engine("a", 4)}, 6, 4, 2);
  expect({engine("a", 5)}, 6.5, 5, 2);
}

}  // namespace
}  // namespace volvox
