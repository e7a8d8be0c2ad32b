#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "loadgen/sessions/session_load.h"

namespace volvox {

// `volvox load --sessions N`: what is asked of the sessions; the rest is as for requests that stand alone.
struct SessionArguments {
  std::uint32_t sessions = 0;  // 0: requests stand alone
  std::uint32_t parts = 10;
  double pause_ms = 0, every_ms = 0;
  double repeats = 0, cancels = 0, abandons = 0;
  bool bundles = false, same_parts = false;
};

void add_session_options(CLI::App& command, SessionArguments& arguments);

// Runs the load, prints its report, and writes it to the file, if there is a name. The exit status.
Result<int> load_sessions(const SessionArguments& arguments, SessionLoadPlan plan,
                          const LengthSource& lengths, const std::string& json_file);

}  // namespace volvox
