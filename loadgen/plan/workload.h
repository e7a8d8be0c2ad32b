#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "loadgen/plan/plan.h"

namespace volvox {

// Requests of one class in a user's words, by options or in a workload: files and models are named, not read.
struct RequestWords {
  std::string model{};
  std::uint32_t version = 0;  // 0: the newest
  double weight = 1;
  std::string input = "tokens", priority = "normal";
  std::string lengths{}, column = "source", trees{}, lattices{};  // files; of the last two also "random"
  std::string sequences{};                                        // names, with a comma: pairs of lengths
  std::uint32_t length = 0, vocabulary = 30000;                   // length 0: as `lengths` says
  double deadline_ms = 0, cancel_fraction = 0, cancel_after_ms = 10;
};

// A load as a file: who asks what, how often, and when. docs/load.md explains the keys.
struct LoadWorkload {
  LoadPlan plan{};
  std::vector<RequestWords> requests{};
  std::string trace{};  // file; empty: none
  double speed = 1;     // of the trace
};

// Reads the text of a workload; what it does not say is left as in `otherwise`. Files that it names are
// relative to `folder`. `file` stands in errors, which say "file: table: key: why", as INVALID_ARGUMENT; a
// key that nobody knows is one, so that a misspelt one is not silently ignored.
Result<LoadWorkload> parse_workload(std::string_view toml, std::string_view file, const std::string& folder,
                                    const LoadPlan& otherwise);
// The same from a file.
Result<LoadWorkload> read_workload(const std::string& path, const LoadPlan& otherwise);

}  // namespace volvox
