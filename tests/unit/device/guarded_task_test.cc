#include "device/guarded_task.h"

#include <new>
#include <stdexcept>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(GuardedTask, SaysWhatTheTaskSays) {
  EXPECT_TRUE(guarded_task([] { return Status(); }).has_value());
  const Status refused = guarded_task([]() -> Status { return invalid("no such type"); });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), (Error{ErrorCode::kInvalidArgument, "no such type"}));
}

TEST(GuardedTask, WhatIsThrownIsAnInternalError) {
  const Status thrown = guarded_task([]() -> Status { throw std::runtime_error("no result"); });
  ASSERT_FALSE(thrown.has_value());
  EXPECT_EQ(thrown.error(), (Error{ErrorCode::kInternal, "task failed: no result"}));
  const Status short_of_memory = guarded_task([]() -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(short_of_memory.has_value());
  EXPECT_EQ(short_of_memory.error(), (Error{ErrorCode::kInternal, "out of memory"}));
}

}  // namespace
}  // namespace volvox
