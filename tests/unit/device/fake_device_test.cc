#include "device/fake_device.h"

#include <cstring>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "device/host_memory.h"
#include "tests/unit/device/conformance.h"

namespace volvox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Result<std::unique_ptr<Device>> make_fake() {
  return std::make_unique<FakeDevice>();
}

INSTANTIATE_TEST_SUITE_P(Fake, DeviceConformance, ::testing::Values(DeviceUnderTest{"fake", make_fake}),
                         device_name);

// A fake device that does nothing by itself, with the check cell as type 0.
class ByHand : public ::testing::Test {
 protected:
  void start(FakeDevice::Options options = {}) {
    options.run_when_waited_for = false;
    device_ = std::make_unique<FakeDevice>(options);
    const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
    ASSERT_TRUE(device_->add_pool(0, kinds, 10));
    ASSERT_TRUE(device_->compile(0, check_cell("check").value(), Weights{}, {.max_batch = 4}));
    queue_ = device_->open({}).value();
    results_ = device_->results(64).value();
    pages_ = stage();
  }
  std::unique_ptr<InputPages> stage() {
    auto bytes = host_bytes(64);
    std::memset(bytes.get(), 0, 64);
    const InputBlock block{{bytes.get(), 64}, bytes};
    return device_->stage({&block, 1}).value();
  }

  RowBinding row(std::uint32_t reads, std::uint32_t writes) {
    RowBinding b;
    b.gathers[0].base = reads;
    b.pulls[0] = {pages_->addresses()[0], 4};
    b.out_base = writes;
    b.length = 1;
    return b;
  }
  const Task& task(std::vector<RowBinding> bindings) {
    tasks_.push_back(std::make_unique<Task>());
    Task& made = *tasks_.back();
    made.seq = tasks_.size();
    made.bindings = std::move(bindings);
    for (const RowBinding& b : made.bindings) made.rows += b.span;
    made.padded_rows = made.rows;
    return made;
  }
  // Runs one task and expects that it is refused in these words.
  void expect_wrong(std::vector<RowBinding> bindings, const std::string& words) {
    const std::size_t before = device_->errors().size();
    ASSERT_TRUE(queue_->submit(task(std::move(bindings))));
    ASSERT_EQ(device_->run(0), 1U);
    ASSERT_THAT(device_->errors(), SizeIs(before + 1));
    EXPECT_THAT(device_->errors().back(), HasSubstr(words));
    EXPECT_EQ(queue_->progress().done, tasks_.size()) << "it counts as done all the same";
  }

  std::vector<std::unique_ptr<Task>> tasks_;
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Queue> queue_;
  ResultBlock results_;
  std::unique_ptr<InputPages> pages_;
};

TEST_F(ByHand, RunsWhenTold) {
  start();
  ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  ASSERT_TRUE(queue_->submit(task({row(2, 3)})));
  EXPECT_FALSE(queue_->wait(0, Duration{0}));
  EXPECT_EQ(device_->pending(0), 2U);
  EXPECT_EQ(device_->run(0), 1U);
  EXPECT_EQ(queue_->progress().done, 1U);
  EXPECT_TRUE(queue_->wait(0, Duration{0}));
  EXPECT_EQ(device_->run(0, 5), 1U);
  EXPECT_EQ(queue_->progress().done, 2U);
  EXPECT_THAT(device_->errors(), IsEmpty());
  ASSERT_THAT(device_->ran(), SizeIs(2));
  EXPECT_EQ(device_->ran()[1].seq, 2U);
}

TEST_F(ByHand, WithholdsCompletions) {
  start();
  device_->withhold(0, true);
  ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  EXPECT_EQ(device_->run(0), 1U);
  EXPECT_EQ(queue_->progress().done, 0U);
  device_->withhold(0, false);
  EXPECT_EQ(queue_->progress().done, 1U);
}

TEST_F(ByHand, FailsATaskAndAllAfterIt) {
  start();
  device_->fail_task(0, 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  device_->run(0, 3);
  EXPECT_EQ(queue_->progress().done, 1U);
  EXPECT_EQ(queue_->progress().first_failed, 2U);
  EXPECT_FALSE(queue_->progress().error.empty());
  EXPECT_TRUE(queue_->wait(1, Duration{0})) << "a failure ends waiting";
  EXPECT_FALSE(queue_->submit(task({row(0, 2)})));
}

TEST_F(ByHand, FindsHazards) {
  start();
  expect_wrong({row(0, 2), row(0, 2)}, "as an earlier row does");
  expect_wrong({row(3, 2), row(0, 3)}, "which the task writes");
  expect_wrong({row(2, 2)}, "which the task writes");
  expect_wrong({row(1, 2)}, "the sink");
  expect_wrong({row(0, 0)}, "the initial value");
  expect_wrong({row(10, 2)}, "not there");
  expect_wrong({row(0, 10)}, "not there");
  expect_wrong({row(0, 2), row(0, 3), row(0, 4), row(0, 5), row(0, 6)}, "maximum batch");
  expect_wrong({}, "no rows");
}

TEST_F(ByHand, SeveralRowsMayReadOneSlot) {
  start();
  ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  ASSERT_TRUE(queue_->submit(task({row(2, 3), row(2, 4)})));
  device_->run(0, 2);
  EXPECT_THAT(device_->errors(), IsEmpty());
}

TEST_F(ByHand, KnowsWhichMemoryIsWhose) {
  start();
  RowBinding pushes = row(0, 2);
  pushes.pushes[0] = {results_.address + 56, 0};
  ASSERT_TRUE(queue_->submit(task({pushes})));
  device_->run(0);
  EXPECT_THAT(device_->errors(), IsEmpty());
  pushes.pushes[0].address += 1;
  expect_wrong({pushes}, "its result is outside");
  RowBinding pulls = row(0, 2);
  pulls.pulls[0].address += 61;
  expect_wrong({pulls}, "its input is outside");
  pulls = row(0, 2);
  pages_.reset();
  expect_wrong({pulls}, "its input is outside");
}

TEST_F(ByHand, InputsLandWhenTold) {
  FakeDevice::Options options;
  options.hold_inputs = true;
  start(options);
  EXPECT_FALSE(pages_->landed());
  expect_wrong({row(0, 2)}, "has not landed");
  device_->land_inputs();
  EXPECT_TRUE(pages_->landed());
  ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  device_->run(0);
  EXPECT_THAT(device_->errors(), SizeIs(1));
}

TEST_F(ByHand, CopiesAtTheLastMoment) {
  start();
  ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  const std::vector<SlotCopy> copies = {{0, 2, 5}};
  ASSERT_TRUE(queue_->copy_state(*device_, copies, 1));
  device_->run(0);
  RowBinding last = row(5, 6);
  last.pushes[0] = {results_.address, 0};
  ASSERT_TRUE(queue_->submit(task({last})));
  device_->run(0);
  std::uint64_t state = 0;
  std::memcpy(&state, results_.host.get(), sizeof state);
  EXPECT_EQ(state, check_hash(check_hash(0, 0), 0));
  EXPECT_THAT(device_->errors(), IsEmpty());
}

TEST_F(ByHand, NoticesTasksOutOfOrderAndUnknownTypes) {
  start();
  ASSERT_TRUE(queue_->submit(task({row(0, 2)})));
  Task skipped = task({row(0, 2)});
  skipped.seq = 7;
  ASSERT_TRUE(queue_->submit(skipped));
  EXPECT_THAT(device_->errors(), ElementsAre(HasSubstr("submitted after")));
  device_->run(0, 2);
  Task unknown = task({row(0, 2)});
  unknown.seq = 8;
  unknown.type = 3;
  ASSERT_TRUE(queue_->submit(unknown));
  device_->run(0);
  EXPECT_THAT(device_->errors(), SizeIs(2));
}

}  // namespace
}  // namespace volvox
