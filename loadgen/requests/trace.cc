#include "loadgen/requests/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include "shapes/lengths.h"

namespace volvox {
namespace {

constexpr double kLongestSeconds = 1e9;

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<TraceEntry> parse_entry(std::string_view line, std::span<const std::string> models,
                                      double speed) {
  const std::size_t first = line.find(','), last = line.rfind(',');
  if (first == last) return std::nullopt;
  double at_s = 0;
  TraceEntry entry;
  if (!parse_number(line.substr(0, first), at_s) || !parse_number(line.substr(last + 1), entry.size))
    return std::nullopt;
  const auto model = std::ranges::find(models, line.substr(first + 1, last - first - 1));
  const bool fits = at_s >= 0 && at_s / speed <= kLongestSeconds && model != models.end();
  if (!fits) return std::nullopt;
  entry.at = Duration(static_cast<Duration::rep>(at_s / speed * 1e9));
  entry.of_class = static_cast<std::uint32_t>(model - models.begin());
  return entry;
}

}  // namespace

Result<Trace> read_trace(const std::string& path, std::span<const std::string> models, double speed) {
  if (!std::isfinite(speed) || speed <= 0) return invalid("a trace is replayed at a speed above 0");
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line))
    return invalid("cannot read the trace in '" + path + "'; check the path");
  if (line.ends_with('\r')) line.pop_back();
  if (line != "at_s,model,size") return invalid(path + ":1: a trace begins with the line at_s,model,size");
  Trace trace;
  while (std::getline(file, line)) {
    if (line.ends_with('\r')) line.pop_back();
    const std::string where = path + ":" + std::to_string(trace.size() + 2);
    const auto entry = parse_entry(line, models, speed);
    if (!entry)
      return invalid(where + ": expected seconds, a model of the workload, and a size, with commas");
    trace.push_back(*entry);
    if (trace.size() > kMostTraceEntries)
      return invalid(where + ": a trace has at most " + std::to_string(kMostTraceEntries) + " requests");
    if (trace.size() > 1 && trace[trace.size() - 2].at > entry->at)
      return invalid(where + ": its time goes back");
  }
  if (Status ok = check_trace(trace, models.size()); !ok) return invalid(path + ": " + ok.error().message);
  return trace;
}

Status check_trace(const Trace& trace, std::size_t classes) {
  if (trace.empty() || trace.size() > kMostTraceEntries)
    return invalid("a trace has from 1 to " + std::to_string(kMostTraceEntries) + " requests");
  Duration last{};
  for (const TraceEntry& entry : trace) {
    if (entry.at < last || entry.at > std::chrono::seconds(static_cast<std::int64_t>(kLongestSeconds)))
      return invalid("the times of a trace begin at 0 and do not go back");
    if (entry.of_class >= classes) return invalid("a request of the trace is of no class");
    if (entry.size > LengthSource::kMaxLength)
      return invalid("a request of the trace is longer than 1048576");
    last = entry.at;
  }
  return {};
}

}  // namespace volvox
