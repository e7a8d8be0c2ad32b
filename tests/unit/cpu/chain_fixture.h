#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/split.h"
#include "cells/ops/ops.h"
#include "cpu/cpu_device.h"
#include "device/host_memory.h"
#include "tests/unit/cells/random_weights.h"

namespace volvox::cpu {

inline Weights lstm_weights(std::int64_t input, std::int64_t hidden) {
  return RandomWeights()
      .add("lstm.embedding", {kVocabulary, input}, 2.0F)
      .add("lstm.weight_ih", {4 * hidden, input})
      .add("lstm.weight_hh", {4 * hidden, hidden})
      .add("lstm.bias", {4 * hidden})
      .weights();
}

using Tokens = std::vector<std::int32_t>;

inline std::vector<Tokens> random_sequences(std::size_t n, std::size_t longest, std::uint32_t seed = 5) {
  std::mt19937 random(seed);
  std::vector<Tokens> sequences(n);
  for (Tokens& tokens : sequences) {
    tokens.resize(1 + random() % longest);
    for (auto& token : tokens) token = static_cast<std::int32_t>(random() % kVocabulary);
  }
  return sequences;
}

// Runs chains of one cell type on a CPU device as a scheduler would: one cohort, which shrinks as chains end.
class ChainRunner {
 public:
  static constexpr CellTypeId kCell = 0, kEager = 1;
  static constexpr PoolId kPool = 0, kEagerPool = 1;

  ChainRunner(CpuOptions options, std::uint32_t slots = 2050) : options_(options), slots_(slots) {
    options_.measure = false;
    device_ = CpuDevice::make(options_).value();
  }
  Device& device() { return *device_; }

  // `part` is the whole cell, or with `eager` a split one.
  void load(const Cell& cell, const Weights& weights, bool eager = false) {
    SplitCell split{std::nullopt, cell, 0};
    if (eager) split = split_cell(cell).value();
    ASSERT_EQ(split.eager.has_value(), eager);
    ASSERT_TRUE(device_->add_pool(kPool, cell.states, slots_));
    CompileOptions options{.out_pool = kPool, .gather_pools = {}, .ragged_pool = kPool, .max_batch = 512};
    if (eager) {
      eager_gather_ = static_cast<int>(split.gather);
      ASSERT_TRUE(device_->add_pool(kEagerPool, split.eager->states, slots_));
      options.out_pool = kEagerPool;
      compile(kEager, *split.eager, weights, options);
      options.out_pool = kPool;
      options.gather_pools[split.gather] = kEagerPool;
    }
    compile(kCell, split.core, weights, options);
    result_bytes_ = 8;
    for (const Operator& op : split.core.operators) {
      if (!op.is(kPushOp)) continue;
      const Value& value = split.core.values[op.inputs[0]];
      result_bytes_ = static_cast<std::size_t>(elements(value.shape)) * size_bytes(value.dtype);
    }
    queue_ = device_
                 ->open({.name = "test",
                         .threads = options_.threads,
                         .max_tasks = 4,
                         .max_cohorts = 1,
                         .max_cohort_rows = 512})
                 .value();
  }

  // The last result of every chain, as bytes.
  std::vector<std::vector<std::byte>> run(const std::vector<Tokens>& sequences) {
    std::vector<std::size_t> order(sequences.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return sequences[a].size() > sequences[b].size(); });
    std::vector<std::vector<std::byte>> results(sequences.size(), std::vector<std::byte>(result_bytes_));
    if (eager_gather_ >= 0) run_eager(sequences, order);
    const std::size_t steps = order.empty() ? 0 : sequences[order[0]].size();
    for (std::size_t t = 0; t < steps; ++t) run_step(sequences, order, t, results);
    return results;
  }

  std::map<CellTypeId, CompiledCell> compiled;

 private:
  void compile(CellTypeId type, const Cell& cell, const Weights& weights, const CompileOptions& options) {
    auto made = device_->compile(type, cell, weights, options);
    ASSERT_TRUE(made) << made.error().message;
    compiled[type] = *made;
  }
  void submit(const Task& task) {
    ASSERT_TRUE(queue_->submit(task));
    ASSERT_TRUE(queue_->wait(task.seq - 1, std::chrono::seconds(30)));
    const Progress progress = queue_->progress();
    ASSERT_EQ(progress.first_failed, 0U) << progress.error;
    ASSERT_EQ(progress.done, task.seq);
  }

  RowBinding bind(const Tokens& tokens) const {
    RowBinding binding;
    binding.pulls[0] = {address_of(tokens.data()), sizeof(std::int32_t)};
    binding.length = static_cast<std::uint32_t>(tokens.size());
    return binding;
  }
  // W·x of every step of every chain, in tasks of at most 512 rows.
  void run_eager(const std::vector<Tokens>& sequences, const std::vector<std::size_t>& order) {
    eager_base_.assign(sequences.size(), 0);
    std::uint32_t next = kReservedSlots;
    Task task;
    const auto flush = [&] {
      if (task.rows == 0) return;
      task.seq = ++seq_;
      task.type = kEager;
      submit(task);
      task.clear();
    };
    for (std::size_t i : order) {
      RowBinding binding = bind(sequences[i]);
      binding.span = binding.length;
      binding.out_base = eager_base_[i] = next;
      binding.out_ring = binding.length;
      next += binding.length;
      if (task.rows + binding.span > 512) flush();
      task.bindings.push_back(binding);
      task.rows += binding.span;
    }
    flush();
    ASSERT_LE(next, slots_);
  }
  void run_step(const std::vector<Tokens>& sequences, const std::vector<std::size_t>& order, std::size_t t,
                std::vector<std::vector<std::byte>>& results) {
    Task task;
    task.seq = ++seq_;
    task.type = kCell;
    task.form = Task::Form::kCohort;
    task.step = first_step_ + t;
    for (std::uint32_t r = 0; r < order.size() && sequences[order[r]].size() > t; ++r) {
      const Tokens& tokens = sequences[order[r]];
      ++task.rows;
      if (tokens.size() == t + 1) task.emits.push_back({r, 0, address_of(results[order[r]].data())});
      if (t > 0) continue;
      RowBinding binding = bind(tokens);
      binding.start = first_step_;
      binding.out_base = kReservedSlots + 2 * r;
      binding.out_ring = 2;
      binding.gathers[0] = {binding.out_base, 2, -1, 1, kInitialSlot};
      if (eager_gather_ >= 0) {
        const std::uint32_t base = eager_base_[order[r]];
        binding.gathers[static_cast<std::size_t>(eager_gather_)] = {base, binding.length, 0, 1, kInitialSlot};
      }
      task.changes.push_back({r, RowChange::kBind, static_cast<std::uint32_t>(task.bindings.size())});
      task.bindings.push_back(binding);
    }
    task.padded_rows = task.rows;
    submit(task);
  }

  CpuOptions options_;
  std::uint32_t slots_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  TaskSeq seq_ = 0;
  std::uint64_t first_step_ = 1000;
  int eager_gather_ = -1;
  std::vector<std::uint32_t> eager_base_;
  std::size_t result_bytes_ = 0;
};

inline std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace volvox::cpu
