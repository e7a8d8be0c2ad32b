#include "simulation/bench/lstm_step.h"

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "cells/library/lstm.h"
#include "device/host_memory.h"
#include "shapes/random.h"

namespace volvox::bench {
namespace {

constexpr std::int64_t kVocabulary = 1024;

Weights lstm_weights(std::int64_t input, std::int64_t hidden) {
  const std::map<std::string, Shape> shapes = {{"lstm.embedding", {kVocabulary, input}},
                                               {"lstm.weight_ih", {4 * hidden, input}},
                                               {"lstm.weight_hh", {4 * hidden, hidden}},
                                               {"lstm.bias", {4 * hidden}}};
  auto memory = std::make_shared<std::vector<std::shared_ptr<std::byte[]>>>();
  std::map<std::string, Tensor, std::less<>> tensors;
  SeededRandom chance(1);
  for (const auto& [name, shape] : shapes) {
    const auto count = static_cast<std::size_t>(elements(shape));
    auto bytes = host_bytes(count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(chance.unit() - 0.5) / 16;
      std::memcpy(bytes.get() + i * sizeof value, &value, sizeof value);
    }
    tensors[name] = {DType::kF32, shape, {bytes.get(), count * sizeof(float)}};
    memory->push_back(std::move(bytes));
  }
  return {std::move(tensors), memory};
}

}  // namespace

Result<std::unique_ptr<LstmSteps>> LstmSteps::make(const LstmShape& shape, std::unique_ptr<Device> device,
                                                   std::uint32_t threads) {
  auto steps = std::make_unique<LstmSteps>();
  steps->device_ = std::move(device);
  steps->weights_ = lstm_weights(shape.input, shape.hidden);
  const auto cell = lstm_cell("lstm", {shape.input, shape.hidden}, &steps->weights_);
  if (!cell) return tl::unexpected(cell.error());
  const Status pool = steps->device_->add_pool(0, cell->states, 2 * shape.batch + kReservedSlots);
  if (!pool) return tl::unexpected(pool.error());
  CompileOptions options;
  options.max_batch = shape.batch;
  const auto compiled = steps->device_->compile(0, *cell, steps->weights_, options);
  if (!compiled) return tl::unexpected(compiled.error());
  steps->kernel_ = compiled->kernel;
  QueueConfig config;
  config.threads = threads;
  config.max_cohort_rows = shape.batch;
  auto queue = steps->device_->open(config);
  if (!queue) return tl::unexpected(queue.error());
  steps->queue_ = std::move(*queue);
  if (Status ok = steps->bind(shape); !ok) return tl::unexpected(ok.error());
  return steps;
}

// Each row reads one token for ever, and alternates between two slots. The first task binds all rows.
Status LstmSteps::bind(const LstmShape& shape) {
  auto bytes = host_bytes(shape.batch * sizeof(std::int32_t));
  SeededRandom chance(2);
  for (std::uint32_t r = 0; r < shape.batch; ++r) {
    const auto token = static_cast<std::int32_t>(chance.below(kVocabulary));
    std::memcpy(bytes.get() + r * sizeof token, &token, sizeof token);
  }
  const InputBlock block{{bytes.get(), shape.batch * sizeof(std::int32_t)}, bytes};
  auto pages = device_->stage({&block, 1});
  if (!pages) return tl::unexpected(pages.error());
  tokens_ = std::move(*pages);
  for (std::uint32_t i = 0; i < kAhead; ++i) {
    tasks_.push_back(std::make_unique<Task>());
    tasks_.back()->form = Task::Form::kCohort;
    tasks_.back()->rows = tasks_.back()->padded_rows = shape.batch;
  }
  for (std::uint32_t r = 0; r < shape.batch; ++r) {
    RowBinding binding;
    binding.out_base = kReservedSlots + 2 * r;
    binding.out_ring = 2;
    binding.gathers[0] = {binding.out_base, 2, -1, 1, kInitialSlot};
    binding.pulls[0] = {tokens_->addresses()[0] + r * sizeof(std::int32_t), 0};
    binding.length = ~std::uint32_t{0};
    tasks_[0]->bindings.push_back(binding);
    tasks_[0]->changes.push_back({r, RowChange::kBind, r});
  }
  return {};
}

void LstmSteps::submit() {
  Task& task = *tasks_[submitted_ % kAhead];
  if (submitted_ == kAhead) tasks_[0]->changes.clear();  // bound
  task.step = submitted_;
  task.seq = ++submitted_;
  failed_ = failed_ || !queue_->submit(task);
}

Result<LstmSteps::Time> LstmSteps::measure(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto advance = [this] {
    while (submitted_ < queue_->progress().done + kAhead && !failed_) submit();
    queue_->wait(queue_->progress().done, std::chrono::milliseconds(100));
    failed_ = failed_ || queue_->progress().first_failed != 0;
  };
  const TaskSeq warm = queue_->progress().done + 2 * kAhead;
  while (queue_->progress().done < warm && !failed_) advance();
  const Progress before = queue_->progress();
  const auto start = Clock::now();
  std::chrono::duration<double> passed{0};
  while (passed.count() < seconds && !failed_) {
    advance();
    passed = Clock::now() - start;
  }
  const Progress after = queue_->progress();
  if (failed_ || after.done == before.done)
    return fail(ErrorCode::kInternal, "the device failed: " + after.error);
  const auto steps = static_cast<double>(after.done - before.done);
  return Time{static_cast<double>(after.kernel_ns - before.kernel_ns) * 1e-3 / steps,
              passed.count() * 1e6 / steps};
}

}  // namespace volvox::bench
