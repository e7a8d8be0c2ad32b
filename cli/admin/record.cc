#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/admin/capture.h"
#include "cli/commands.h"
#include "cli/output_file.h"

namespace volvox {
namespace {

using nlohmann::json;

// A line of the trace that a load replays (loadgen/requests/trace.h).
struct Line {
  double at_us = 0;
  std::string model;
  std::uint64_t size = 0;
};

// What the process did not know, or would not run, has no place among what is asked again.
bool was_asked_well(const json& event) {
  if (event.value("cat", "") != "request" || event.value("ph", "") != "b" || !event.contains("args"))
    return false;
  const std::string outcome = event["args"].value("outcome", "");
  return outcome != to_string(ErrorCode::kModelNotFound) && outcome != "INVALID_ARGUMENT" &&
         outcome != "UNAUTHENTICATED";
}

std::string text_of(const Line& line) {
  std::array<char, 32> at{};
  std::snprintf(at.data(), at.size(), "%.6f", line.at_us * 1e-6);
  return std::string(at.data()) + "," + line.model + "," + std::to_string(line.size) + "\n";
}

Status record_requests(const CaptureArguments& arguments) {
  OutputFile file(arguments.output);
  if (Status ok = file.check(); !ok) return ok;
  std::vector<Line> lines;
  const auto keep = [&](const json& events) {
    for (const json& event : events) {
      if (!was_asked_well(event)) continue;
      lines.push_back(
          {event.value("ts", 0.0), event.value("name", ""), event["args"].value("size", std::uint64_t{0})});
    }
  };
  Status read = read_capture(arguments.admin, arguments.seconds, say_what_was_recorded, keep);
  if (!read) return read;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.at_us < b.at_us; });
  file.put("at_s,model,size\n");
  for (const Line& line : lines) file.put(text_of(line));
  if (!file.close()) return fail(ErrorCode::kInternal, "the trace could not be written as a whole");
  return {};
}

int record(const CaptureArguments& arguments) {
  const Status recorded = record_requests(arguments);
  if (recorded) return 0;
  std::fprintf(stderr, "volvox record: %s\n", to_string(recorded.error()).c_str());
  return 1;
}

}  // namespace

void add_record_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<CaptureArguments>(CaptureArguments{.seconds = 60});
  CLI::App* command = app.add_subcommand(
      "record",
      "Writes when a running server is asked, of which models, and how large it is: to be replayed");
  add_capture_options(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return record(*arguments); }; });
}

}  // namespace volvox
