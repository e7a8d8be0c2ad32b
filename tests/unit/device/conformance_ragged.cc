// Cells that read a list of predecessors, down to the last bit: part of what every device must do.

#include <gmock/gmock.h>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "tests/unit/device/conformance.h"
#include "tests/unit/device/hashing_cell.h"

namespace volvox {

using ::testing::ElementsAre;

namespace {

constexpr PoolId kPool = 0;
constexpr CellTypeId kType = 2;

std::uint64_t hash_of_node(std::int32_t token, const std::vector<std::uint64_t>& children) {
  std::uint64_t state = check_hash(0, static_cast<std::uint64_t>(token));
  for (const std::uint64_t child : children) state = check_hash(state, child);
  return state;
}

}  // namespace

// Three leaves, and in the next task a node that reads them out of order and twice, one that reads one of
// them, and one that reads none.
TEST_P(DeviceConformance, HashesListsOfPredecessorsInTheirOrder) {
  const auto compiled = device_->compile(
      kType, hashing_cell(), Weights{},
      {.out_pool = kPool, .gather_pools = {}, .ragged_pool = kPool, .max_batch = 8, .max_edges = 64});
  ASSERT_TRUE(compiled) << compiled.error().message;
  const std::vector<std::int32_t> tokens{5, -6, 7, 8, 9, 10};
  const DeviceAddress input = stage(tokens), out = results<std::uint64_t>(3);
  auto queue = open();
  const auto node = [&](std::uint32_t v, std::uint32_t first_edge, std::uint32_t edges) {
    RowBinding row;
    row.pulls[0] = {input + v * sizeof(std::int32_t), 0};
    row.ragged = {first_edge, edges, true};
    row.out_base = kReservedSlots + v;
    row.length = 1;
    if (v >= 3) row.pushes[0] = {out + (v - 3) * sizeof(std::uint64_t), 0};
    return row;
  };
  Task leaves;
  leaves.seq = 1;
  leaves.type = kType;
  leaves.rows = leaves.padded_rows = 3;
  leaves.bindings = {node(0, 0, 0), node(1, 0, 0), node(2, 0, 0)};
  run(*queue, leaves);
  Task parents = leaves;
  parents.seq = 2;
  parents.bindings = {node(3, 0, 4), node(4, 4, 1), node(5, 5, 0)};
  parents.edges = {4, 2, 4, 3, 3};
  run(*queue, parents);
  const std::uint64_t a = hash_of_node(5, {}), b = hash_of_node(-6, {}), c = hash_of_node(7, {});
  EXPECT_THAT(read<std::uint64_t>(out, 3),
              ElementsAre(hash_of_node(8, {c, a, c, b}), hash_of_node(9, {b}), hash_of_node(10, {})));
}

}  // namespace volvox
