#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/admin/capture.h"
#include "cli/commands.h"
#include "cli/output_file.h"

namespace volvox {
namespace {

using nlohmann::json;

// The file that Perfetto opens, made as its pieces come.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path) : file_(path) {}

  Status check() const { return file_.check(); }
  void begin(const json& said) {
    const json about = {{"begun_unix_ns", said.value("begun_unix_ns", std::int64_t{0})},
                        {"seconds", said.value("seconds", 0.0)},
                        {"lost", said.value("lost", std::uint64_t{0})}};
    file_.put("{\"displayTimeUnit\":\"ms\",\"otherData\":" + about.dump() + ",\"traceEvents\":[");
  }
  void events(const json& list) {
    for (const json& event : list) {
      file_.put(first_ ? "\n" : ",\n");
      file_.put(event.dump(-1, ' ', false, json::error_handler_t::replace));
      first_ = false;
    }
  }
  // Whether all of it was written.
  bool end() {
    file_.put("\n]}\n");
    return file_.close();
  }

 private:
  OutputFile file_;
  bool first_ = true;
};

Status take_trace(const CaptureArguments& arguments) {
  TraceFile file(arguments.output);
  if (Status ok = file.check(); !ok) return ok;
  const auto begin = [&](const json& about) {
    file.begin(about);
    say_what_was_recorded(about);
  };
  Status read =
      read_capture(arguments.admin, arguments.seconds, begin, [&](const json& list) { file.events(list); });
  if (!read) return read;
  if (!file.end()) return fail(ErrorCode::kInternal, "the trace could not be written as a whole");
  return {};
}

int trace(const CaptureArguments& arguments) {
  const Status taken = take_trace(arguments);
  if (taken) return 0;
  std::fprintf(stderr, "volvox trace: %s\n", to_string(taken.error()).c_str());
  return 1;
}

}  // namespace

void add_trace_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<CaptureArguments>(CaptureArguments{.seconds = 5});
  CLI::App* command = app.add_subcommand(
      "trace", "Writes what a running server's requests and tasks go through, as a file that Perfetto opens");
  add_capture_options(*command, *arguments);
  command->callback([arguments, &run] { run = [arguments] { return trace(*arguments); }; });
}

}  // namespace volvox
