#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace volvox::bench {

// What is measured against what.
struct Configuration {
  std::string policy;  // "cellular", "padded", "depth", "agenda"
  std::uint32_t max_batch = 64;
  std::uint32_t bucket_width = 0;  // padded only
  std::uint32_t window = 0;        // depth and agenda only: requests that are merged

  std::string text() const;  // "padded:64:10"
};

// How requests come: as many as can be served, the next one when one is answered, at a rate, at a share of
// what a policy can serve, or as parts of live calls.
struct Load {
  enum class Kind { kBacklog, kInFlight, kRate, kShare, kCalls };
  Kind kind = Kind::kBacklog;
  std::uint64_t outstanding = 0;  // if closed: requests kept live or waiting, the same for each configuration
  double rate_rps = 0;            // kRate
  double share = 0;               // kShare: of the best saturated rate of `of` in the same repetition
  std::string of;
  std::uint32_t calls = 0;  // kCalls

  bool closed() const { return kind == Kind::kBacklog || kind == Kind::kInFlight; }
  std::string text() const;  // "backlog", "1 in flight", "120.0/s", "padded:0.5", "4000 calls"
};

struct EngineOptions {
  std::string model;                         // folder; empty: one is made up
  std::string kind = "lstm";                 // of a made-up one, as `volvox models new` knows it
  std::uint32_t hidden = 1024, steps = 100;  // of a made-up one; steps: of its decoder, at most
  std::string lengths;                       // file; empty: made up, mean 24
  std::string lattices;                      // file, for a model over lattices; empty: made up likewise
  std::string trees;  // file, for a model over trees; empty: made up, over as many leaves as lengths say
  std::vector<std::string> policies{"cellular", "padded"};
  std::vector<std::uint32_t> max_batches{64}, bucket_widths{10}, windows{64};
  bool backlog = false;
  std::vector<std::uint32_t> in_flight;
  std::vector<double> rates;
  std::vector<std::string> shares;   // "padded:0.5"
  std::vector<std::uint32_t> calls;  // live ones, each with a part of one step every …
  double period_ms = 32;             // … so often
  std::string device = "cpu", isa = "auto";
  std::string precision = "float32", gpu_path = "auto";  // gpu
  bool reproducible = false;                             // gpu
  std::uint32_t threads = 1, workers = 1;
  bool eager = false, fold = false;
  std::uint32_t eager_window = 32;
  double timed_fixed_us = 50, timed_row_us = 0.5;  // cost of a task on the timed device
  double seconds = 5, warm_up_seconds = 1;
  std::uint32_t repeat = 5;
  std::uint32_t backlog_depth = 8;
  std::uint64_t seed = 1;
  std::string json;
};

// Every configuration and load of one repetition, in the order in which they run: backlogs first, because
// shares need them. A policy may carry its own batch sizes, and widths or windows: "padded:16,64:1,10". Calls
// run alone, and with policies that run sessions.
struct EnginePlan {
  std::vector<Configuration> configurations;
  std::vector<Load> loads;
};
Result<EnginePlan> plan_of(const EngineOptions& options);

}  // namespace volvox::bench
