#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/admin/admin.h"
#include "cli/commands.h"
#include "cli/option.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr auto kAskAgain = std::chrono::milliseconds(50);

struct TraceArguments {
  double seconds = 5;
  std::string admin = kAutoAdmin, output;
};

class TraceFile {
 public:
  explicit TraceFile(const std::string& path)
      : file_(path.empty() ? stdout : std::fopen(path.c_str(), "w")) {}
  ~TraceFile() { close(); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool good() const { return file_ != nullptr && std::ferror(file_) == 0; }
  void begin(const json& said) {
    const json about = {{"begun_unix_ns", said.value("begun_unix_ns", std::int64_t{0})},
                        {"seconds", said.value("seconds", 0.0)},
                        {"lost", said.value("lost", std::uint64_t{0})}};
    put("{\"displayTimeUnit\":\"ms\",\"otherData\":" + about.dump() + ",\"traceEvents\":[");
  }
  void events(const json& list) {
    for (const json& event : list) {
      put(first_ ? "\n" : ",\n");
      put(event.dump(-1, ' ', false, json::error_handler_t::replace));
      first_ = false;
    }
  }
  void end() { put("\n]}\n"); }
  // Whether all of it was written.
  bool close() {
    if (file_ == nullptr) return false;
    const bool written = std::fflush(file_) == 0 && good();
    if (file_ != stdout) std::fclose(file_);
    file_ = nullptr;
    return written;
  }

 private:
  void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_); }

  std::FILE* file_;
  bool first_ = true;
};

Result<json> read_piece(const TraceArguments& arguments, std::uint64_t trace, std::uint64_t from) {
  for (;;) {
    auto said = ask_admin(arguments.admin, {{"command", "trace.read"}, {"trace", trace}, {"from", from}});
    if (!said || !said->value("running", false)) return said;
    std::this_thread::sleep_for(kAskAgain);
  }
}

Status take_trace(const TraceArguments& arguments) {
  TraceFile file(arguments.output);
  if (!file.good()) return invalid("'" + arguments.output + "' cannot be written");
  const auto started =
      ask_admin(arguments.admin, {{"command", "trace.start"}, {"seconds", arguments.seconds}});
  if (!started) return tl::unexpected(started.error());
  const auto trace = started->value("trace", std::uint64_t{0});
  std::this_thread::sleep_for(std::chrono::duration<double>(arguments.seconds));
  for (std::uint64_t from = 0;;) {
    const auto said = read_piece(arguments, trace, from);
    if (!said) return tl::unexpected(said.error());
    if (from == 0) {
      file.begin(*said);
      std::fprintf(stderr, "%llu requests, %llu tasks, %llu records lost\n",
                   static_cast<unsigned long long>(said->value("requests", std::uint64_t{0})),
                   static_cast<unsigned long long>(said->value("tasks", std::uint64_t{0})),
                   static_cast<unsigned long long>(said->value("lost", std::uint64_t{0})));
    }
    file.events(said->value("events", json::array()));
    if (!said->contains("next")) break;
    from = said->value("next", std::uint64_t{0});
  }
  file.end();
  if (!file.close()) return fail(ErrorCode::kInternal, "the trace could not be written as a whole");
  return {};
}

int trace(const TraceArguments& arguments) {
  const Status taken = take_trace(arguments);
  if (taken) return 0;
  std::fprintf(stderr, "volvox trace: %s\n", to_string(taken.error()).c_str());
  return 1;
}

}  // namespace

void add_trace_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* command = app.add_subcommand(
      "trace", "Writes what a running server's requests and tasks go through, as a file that Perfetto opens");
  add_option(*command, "--seconds SECONDS", arguments->seconds, "For how long");
  add_option(*command, "--output FILE", arguments->output, "Where to; standard output if not given");
  add_option(*command, "--admin SOCKET", arguments->admin,
             "The admin socket of a server, router or node; auto: of the one on port 7100");
  command->callback([arguments, &run] { run = [arguments] { return trace(*arguments); }; });
}

}  // namespace volvox
