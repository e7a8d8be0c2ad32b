#include <gmock/gmock.h>

#include "cells/model/assemble.h"
#include "device/fake_device.h"
#include "install/installer.h"
#include "tests/unit/install/counter.h"

namespace volvox {
namespace {

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
  const auto request = unfolded_request(installed, TreeStructure{parents}, {3}, inputs, 8192);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model, installed.id);
  EXPECT_EQ(request->graph->node(0).type, installed.first_type);
  EXPECT_EQ(request->graph->pool, installed.first_pool);
  EXPECT_EQ(request->inputs[0].address, 4096U);
  EXPECT_EQ(request->inputs[0].stride_bytes, 4);
  EXPECT_EQ(request->outputs[0].address, 8192U);
  EXPECT_EQ(cells_of(installed, {3}), 3U);
}

}  // namespace
}  // namespace volvox
