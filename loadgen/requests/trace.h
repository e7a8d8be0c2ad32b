#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace volvox {

// What a server was once asked, to be asked again exactly so: when, of which model, how long. Not what was
// said.
struct TraceEntry {
  Duration at{};               // since the beginning
  std::uint32_t of_class = 0;  // of the load's RequestMix
  std::uint32_t size = 0;  // steps of a chain or of each sequence, leaves of a tree or graph, characters of a
                           // lattice; 0: as its class draws them

  bool operator==(const TraceEntry&) const = default;
};
using Trace = std::vector<TraceEntry>;

inline constexpr std::size_t kMostTraceEntries = 1'000'000;

// From a file of lines `at_s,model,size` with those names in the first one: seconds since the beginning,
// never going back; a model of `models`, whose place is the class; a size. The times are divided by `speed`.
// INVALID_ARGUMENT with the line's number for anything else.
Result<Trace> read_trace(const std::string& path, std::span<const std::string> models, double speed);

// The classes are below `classes`, the times do not go back, and no size is absurd: INVALID_ARGUMENT
// otherwise.
Status check_trace(const Trace& trace, std::size_t classes);

}  // namespace volvox
