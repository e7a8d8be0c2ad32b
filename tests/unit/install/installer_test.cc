#include "install/installer.h"

#include <gmock/gmock.h>

#include "cells/ir/cell_builder.h"
#include "cells/model/assemble.h"
#include "cells/unfold/sequence.h"
#include "device/fake_device.h"

namespace volvox {
namespace {

using testing::HasSubstr;

// A chain of one cell that counts its steps in a state of `width` numbers; batches of at most 8.
std::shared_ptr<const Model> counter(const std::string& name, std::int64_t width = 16) {
  CellBuilder b("count");
  b.state({"n", {width}, DType::kF32, 0.0});
  const ValueId n = b.add(b.gather(0, "n"), b.pull("x", DType::kF32, {width}));
  b.scatter("n", n);
  b.push("n", n);
  auto model = std::make_shared<Model>();
  model->name = name;
  model->types = {{.name = "count", .cell = b.build().value(), .max_batch = 8}};
  model->pools = {{model->types[0].cell.states}};
  LaneSpec lane;
  lane.edges = {{0, 0, -1, 1, false, false, LaneEdge::kNone}};
  lane.ring = 2;
  lane.pulls[0] = 0;
  lane.pushes[0] = {0, false};
  model->plan.lanes = {lane};
  model->unfolding = sequence_unfolding();
  model->inputs = {{.name = "x", .dtype = DType::kF32, .shape = {width}}};
  model->outputs = {{.name = "n", .dtype = DType::kF32, .shape = {width}}};
  return model;
}

TEST(Installer, NumbersAndMemoryOfAModelThatWentAreUsedAgain) {
  FakeDevice device;
  Installer installer({&device}, {.pool_bytes = 1 << 20});
  const auto a = installer.add(counter("a"), {});
  ASSERT_TRUE(a) << a.error().message;
  const std::uint64_t of_one = installer.pool_bytes();
  EXPECT_EQ(of_one, (*a)->pool_bytes);
  EXPECT_GT(of_one, 0U);
  const auto b = installer.add(counter("b"), {.weight = 3.0, .max_waiting = 7});
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ((*b)->id, 1U);
  EXPECT_EQ((*b)->parts.config.weight, 3.0);
  EXPECT_EQ((*b)->parts.config.max_waiting, 7U);
  EXPECT_EQ((*b)->parts.types[0].id, 1U);
  EXPECT_EQ((*b)->parts.types[0].model, 1U);
  installer.remove(**a);
  EXPECT_EQ(device.cell(0), nullptr);
  EXPECT_EQ(device.pool(0), nullptr);
  EXPECT_NE(device.cell(1), nullptr);
  const auto c = installer.add(counter("c"), {});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ((*c)->id, 0U);
  EXPECT_EQ((*c)->first_type, 0U);
  EXPECT_NE((*c)->serial, (*a)->serial);
  installer.remove(**b);
  installer.remove(**c);
  EXPECT_EQ(installer.pool_bytes(), 0U);
}

TEST(Installer, RefusesWhatItsBudgetCannotHoldAndLeavesNothingBehind) {
  FakeDevice device;
  // 8 requests with two slots of 64 KiB each: 1 MiB, and two slots more.
  Installer installer({&device}, {.pool_bytes = 3 << 20});
  const auto wide = counter("wide", 16 * 1024);
  const auto first = installer.add(wide, {.pool_bytes = 1 << 20});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GE((*first)->parts.pools[0].slots, 16U) << "a batch, although the share buys less";
  const auto second = installer.add(wide, {});
  ASSERT_TRUE(second) << second.error().message;
  const std::uint64_t used = installer.pool_bytes();
  EXPECT_LE(used, 3U << 20);
  const auto third = installer.add(wide, {});
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().message, HasSubstr("model 'wide': out of budget"));
  EXPECT_EQ(installer.pool_bytes(), used);
  EXPECT_EQ(device.pool(2), nullptr);
  installer.remove(**first);
  EXPECT_TRUE(installer.add(wide, {}));
}

TEST(Installer, ATreesLargestRequestFitsAndItsNumbersAreTheProcesss) {
  ModelDefinition definition{.name = "tree", .unfolding = "tree", .max_length = 500};
  definition.cells.push_back({.name = "tree", .kind = "check_tree", .max_batch = 2});
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs.push_back({.name = "state"});
  const auto model = std::make_shared<const Model>(assemble(definition, Weights{}, {}, "f").value());
  FakeDevice device;
  Installer installer({&device}, {.pool_bytes = 1 << 20});
  ASSERT_TRUE(installer.add(counter("a"), {}));
  const auto small = installer.add(model, {.pool_bytes = 1});
  ASSERT_TRUE(small) << small.error().message;
  const InstalledModel& installed = **small;
  EXPECT_EQ(installed.parts.pools[0].slots, 500 + kReservedSlots);
  EXPECT_FALSE(installed.sessions.possible);
  const std::vector<std::int32_t> parents{2, 2, -1};
  const std::vector<DeviceAddress> inputs{4096};
  const auto request = unfolded_request(installed, TreeStructure{parents}, 3, inputs, 8192);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model, installed.id);
  EXPECT_EQ(request->graph->node(0).type, installed.first_type);
  EXPECT_EQ(request->graph->pool, installed.first_pool);
  EXPECT_EQ(request->inputs[0].address, 4096U);
  EXPECT_EQ(request->inputs[0].stride_bytes, 4U);
  EXPECT_EQ(request->outputs[0].address, 8192U);
  EXPECT_EQ(cells_of(installed, 3), 3U);
}

TEST(Installer, BoundsTheNumberOfModels) {
  FakeDevice device;
  Installer installer({&device}, {.max_models = 2, .max_types = 8});
  EXPECT_TRUE(installer.add(counter("a"), {}));
  const auto b = installer.add(counter("b"), {});
  ASSERT_TRUE(b);
  const auto c = installer.add(counter("c"), {});
  ASSERT_FALSE(c);
  EXPECT_THAT(c.error().message, HasSubstr("unload one first"));
  installer.remove(**b);
  EXPECT_TRUE(installer.add(counter("c"), {}));
}

TEST(Installer, AModelThatDoesNotCompileLeavesNothingBehind) {
  FakeDevice device;
  Installer installer({&device}, {});
  auto broken = std::make_shared<Model>(*counter("broken"));
  broken->pools = {{}};  // lacks the cell's state
  const auto refused = installer.add(broken, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("model 'broken': "));
  EXPECT_EQ(device.pool(0), nullptr);
  EXPECT_EQ(installer.pool_bytes(), 0U);
  const auto good = installer.add(counter("good"), {});
  ASSERT_TRUE(good);
  EXPECT_EQ((*good)->id, 0U);
}

TEST(Installer, EveryDeviceGetsEveryModelOrNoneDoes) {
  FakeDevice a, b;
  Installer installer({&a, &b}, {});
  const auto good = installer.add(counter("good"), {});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(a.pool(0)->slots(), b.pool(0)->slots());
  FakeDevice::Options coarse;
  coarse.config.sizes = {64};
  FakeDevice fine, other(coarse);
  Installer unlike({&fine, &other}, {});
  const auto refused = unlike.add(counter("second"), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("batches of other sizes"));
  EXPECT_EQ(fine.pool(0), nullptr);
  EXPECT_EQ(other.pool(0), nullptr);
  installer.remove(**good);
  EXPECT_EQ(b.pool(0), nullptr);
}

TEST(IdRanges, GivesTheLowestNumbersThatAreFree) {
  IdRanges ids;
  EXPECT_EQ(ids.take(3), 0U);
  EXPECT_EQ(ids.take(2), 3U);
  EXPECT_EQ(ids.take(1), 5U);
  ids.give_back(3, 2);
  EXPECT_EQ(ids.take(3), 6U) << "the gap is too short";
  EXPECT_EQ(ids.take(1), 3U);
  EXPECT_EQ(ids.take(1), 4U);
  ids.give_back(6, 3);
  EXPECT_EQ(ids.take(4), 6U) << "past the end as far as needed";
  EXPECT_EQ(ids.take(0), 0U);
}

}  // namespace
}  // namespace volvox
