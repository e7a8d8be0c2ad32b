#include "simulation/batch_counts.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

// Types 0: leaf, 1: inner, 2: output of each node. ED-Batch's example (its Figure 1): four leaves joined one
// after the other, an output on every node, and the outputs summed up one after the other (type 3).
ReferenceOrder comb() {
  ReferenceOrder order;
  const auto add = [&](CellTypeId type, std::initializer_list<std::uint32_t> from) {
    ReferenceOrder::Node node;
    node.type = type;
    std::copy(from.begin(), from.end(), node.gathers.begin());
    order.nodes.push_back(node);
    return static_cast<std::uint32_t>(order.nodes.size() - 1);
  };
  std::vector<std::uint32_t> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(add(0, {}));
  std::uint32_t top = nodes[0];
  for (int i = 1; i < 4; ++i) nodes.push_back(top = add(1, {top, nodes[static_cast<std::size_t>(i)]}));
  std::vector<std::uint32_t> outputs;
  for (const std::uint32_t node : nodes) outputs.push_back(add(2, {node}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ReferenceOrder::Node sum;
    sum.type = 3;
    sum.gathers[0] = outputs[i];
    if (i > 0) sum.gathers[1] = static_cast<std::uint32_t>(order.nodes.size() - 1);
    order.nodes.push_back(sum);
  }
  return order;
}

TEST(BatchCounts, OfAnExample) {
  CellDag dag;
  dag.add(comb());
  EXPECT_EQ(dag.size(), 4U + 3 + 7 + 7);
  // One batch of leaves, three of inner nodes, one of outputs, seven of sums.
  EXPECT_EQ(fewest_batches(dag), 1U + 3 + 1 + 7);
  // Outputs lie at four depths, and each sum at one of its own.
  EXPECT_EQ(depth_batches(dag), 1U + 3 + 4 + 7);
  EXPECT_GE(agenda_batches(dag), fewest_batches(dag));
  EXPECT_LE(agenda_batches(dag), depth_batches(dag));
}

TEST(BatchCounts, RequestsShareBatches) {
  CellDag one, many;
  one.add(comb());
  for (int i = 0; i < 5; ++i) many.add(comb());
  EXPECT_EQ(many.size(), 5 * one.size());
  EXPECT_EQ(fewest_batches(many), fewest_batches(one));
  EXPECT_EQ(depth_batches(many), depth_batches(one));
  EXPECT_EQ(agenda_batches(many), agenda_batches(one));
}

TEST(BatchCounts, ListedPredecessorsCount) {
  ReferenceOrder order;
  order.nodes.resize(3);
  order.nodes[2].first_listed = 0;
  order.nodes[2].listed = 2;
  order.list = {0, 1};
  CellDag dag;
  dag.add(order);
  EXPECT_EQ(dag.depths(), (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(fewest_batches(dag), 2U);
}

}  // namespace
}  // namespace volvox
