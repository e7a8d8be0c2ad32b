#include "tests/unit/device/cell_batch.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "tests/unit/cells/random_weights.h"

namespace volvox {

CellBatch::CellBatch(const Cell& cell, const Weights& weights, std::uint32_t rows)
    : cell_(cell),
      weights_(weights),
      random_(rows),
      width_(static_cast<std::size_t>(cell.states[0].shape[0])) {
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (auto* states : {&h_, &c_}) {
    states->resize(kSources * width_);
    for (float& v : *states) v = distribution(random_);
  }
  tokens_.resize(rows);
  for (std::uint32_t r = 0; r < rows; ++r) add_row(r);
}

void CellBatch::add_row(std::uint32_t r) {
  tokens_[r] = static_cast<std::int32_t>(random_() % kVocabulary);
  RowBinding row;
  row.length = 1;
  for (auto& gather : row.gathers) gather.base = any_source();
  row.out_base = kReservedSlots + kSources + r;
  row.ragged = {static_cast<std::uint32_t>(edges_.size()), static_cast<std::uint32_t>(random_() % 4), true};
  for (std::uint32_t e = 0; e < row.ragged.count; ++e) edges_.push_back(any_source());
  bindings_.push_back(row);
}

// A cell that publishes what it pulls: how states get onto the device.
Cell CellBatch::maker() const {
  const auto width = static_cast<std::int64_t>(width_);
  CellBuilder b("maker");
  for (const StateKind& state : cell_.states) {
    b.state(state);
    b.scatter(state.name, b.pull(state.name, DType::kF32, {width}));
  }
  return b.build().value();
}

DeviceAddress CellBatch::stage(Device& device, const void* bytes, std::size_t size) {
  const InputBlock block{{static_cast<const std::byte*>(bytes), size}, nullptr};
  pages_.push_back(device.stage({&block, 1}).value());
  return pages_.back()->addresses()[0];
}

void CellBatch::make_states(Device& device, Queue& queue) {
  Task task;
  task.seq = 1;
  task.type = 1;
  task.rows = task.padded_rows = kSources;
  RowBinding row;
  const auto stride = static_cast<std::int32_t>(width_ * sizeof(float));
  row.pulls[0] = {stage(device, h_.data(), h_.size() * sizeof(float)), stride};
  if (cell_.states.size() > 1) row.pulls[1] = {stage(device, c_.data(), c_.size() * sizeof(float)), stride};
  row.length = row.span = row.out_ring = kSources;
  row.out_base = kReservedSlots;
  task.bindings.push_back(row);
  run(queue, task);
}

void CellBatch::run(Queue& queue, const Task& task) {
  const Status ok = queue.submit(task);
  ASSERT_TRUE(ok) << ok.error().message;
  ASSERT_TRUE(queue.wait(task.seq - 1, std::chrono::seconds(30)));
  ASSERT_EQ(queue.progress().error, "");
}

std::vector<float> CellBatch::on_device(Device& device, const CellRun& how) {
  EXPECT_TRUE(device.add_pool(0, cell_.states, kSources + 600));
  const auto compiled = device.compile(0, cell_, weights_, {.max_batch = how.max_batch, .max_edges = 512});
  EXPECT_TRUE(compiled) << compiled.error().message;
  if (compiled) kernel_ = compiled->kernel;
  EXPECT_TRUE(device.compile(1, maker(), {}, {}));
  const auto queue = device.open({.name = "test", .threads = how.threads}).value();
  make_states(device, *queue);
  const DeviceAddress tokens = stage(device, tokens_.data(), tokens_.size() * sizeof(std::int32_t));
  const auto rows = static_cast<std::uint32_t>(bindings_.size());
  const auto results = device.results(rows * width_ * sizeof(float)).value();
  std::fill_n(results.host.get(), rows * width_ * sizeof(float), std::byte{0xff});  // NaN until it is written
  TaskSeq seq = 1;
  for (std::uint32_t first = 0; first < rows; first += how.row_by_row ? 1 : rows) {
    Task task;
    task.seq = ++seq;
    task.rows = how.row_by_row ? 1 : rows;
    task.padded_rows = std::max(how.padded, task.rows);
    task.edges = edges_;
    for (std::uint32_t r = first; r < first + task.rows; ++r) {
      task.bindings.push_back(bindings_[r]);
      task.bindings.back().pulls[0] = {tokens + r * sizeof(std::int32_t), 4};
      task.emits.push_back({r - first, 0, results.address + r * width_ * sizeof(float)});
    }
    run(*queue, task);
  }
  pages_.clear();  // before the device goes
  std::vector<float> read(rows * width_);
  std::memcpy(read.data(), results.host.get(), read.size() * sizeof(float));
  return read;
}

}  // namespace volvox
