#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "loadgen/calls/call_channel.h"
#include "loadgen/calls/call_load.h"

namespace volvox {

// `volvox load --calls N`: what is asked of the calls; the rest is as for requests that stand alone.
struct CallArguments {
  std::uint32_t calls = 0;  // 0: requests stand alone
  std::string audio;
  std::uint32_t window = 0, hop = 0;  // samples
  std::uint32_t behind = 31, record = 512;
  double jitter_ms = 0, churn = 0.01, late_ms = 0;
  std::optional<double> tick_ms;
  bool bundles = false;
};

void add_call_options(CLI::App& command, CallArguments& arguments);

// What else the load needs to know.
struct CallSurroundings {
  CallTarget target{};          // an empty input: that of the model, or "input"
  std::string verify_folder{};  // of the model; empty: nothing is verified
  std::uint32_t verify_calls = 8;
  std::string json_file{};  // empty: none
};

// Runs the load, prints its report, and writes it to the file, if there is a name. The exit status.
Result<int> load_calls(const CallArguments& arguments, CallPlan plan, CallSurroundings around);

}  // namespace volvox
