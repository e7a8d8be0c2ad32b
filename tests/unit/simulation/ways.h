#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "batching/policy/policies.h"
#include "cpu/cpu_device.h"
#include "install/installation.h"
#include "simulation/chains.h"
#include "simulation/engine.h"

namespace volvox {

using Answers = std::vector<std::vector<std::byte>>;

// With what a request may run.
struct Way {
  std::uint32_t max_batch = 64, in_flight = 64, threads = 1, workers = 1;
  cpu::Isa isa = cpu::Isa::kPortable;
  bool eager = true, padded = false, fuse = true, fold = false;
  std::uint32_t eager_window = 32;
};

inline std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << "batch " << way.max_batch << ", " << way.in_flight << " in flight, " << way.threads
             << " threads, " << way.workers << " workers, " << cpu::to_string(way.isa)
             << (way.eager ? ", eager window " + std::to_string(way.eager_window) : "")
             << (way.padded ? ", padded" : "") << (way.fuse ? "" : ", not fused")
             << (way.fold ? ", folded" : "");
}

// Runs the requests in this way. `load` makes the model as the options say.
inline Answers answers_in(const Way& way,
                          const std::function<std::shared_ptr<const Model>(const LoadOptions&)>& load,
                          std::span<const ChainContent> contents) {
  const cpu::CpuOptions options{.isa = way.isa, .threads = way.threads, .measure = false, .fuse = way.fuse};
  auto device = cpu::CpuDevice::make(options).value();
  LoadOptions loading{.eager = way.eager, .eager_window = way.eager_window};
  if (way.fold) loading.fold_bytes = std::uint64_t{1} << 30;
  loading.fold_rows = device->folding();
  const auto model = load(loading);
  const std::vector<std::shared_ptr<const Model>> models{model};
  const auto installed = install(*device, models, {.max_batch = way.max_batch});
  EXPECT_TRUE(installed) << installed.error().message;
  const SchedulerConfig config = scheduler_config(*installed, way.workers);
  auto policy = way.padded ? make_padded_policy(config, {.bucket_width = 4, .max_batch = way.max_batch})
                           : make_cellular_policy(config);
  auto engine = Engine::make(*device, config, std::move(policy), queue_config(config, way.threads)).value();
  auto made = run_chains(*engine, *device, *installed->models[0], contents, way.in_flight);
  EXPECT_TRUE(made) << made.error().message << ": " << way;
  return made ? std::move(*made) : Answers{};
}

inline void expect_same_answers(const Answers& made, const Answers& right, const Way& way) {
  ASSERT_EQ(made.size(), right.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < made.size(); ++i) different += made[i] == right[i] ? 0 : 1;
  EXPECT_EQ(different, 0U) << way;
}

}  // namespace volvox
