#include "cli/admin/capture.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "cli/option.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr auto kAskAgain = std::chrono::milliseconds(50);

Result<json> read_piece(const std::string& admin, std::uint64_t trace, std::uint64_t from) {
  for (;;) {
    auto said = ask_admin(admin, {{"command", "trace.read"}, {"trace", trace}, {"from", from}});
    if (!said || !said->value("running", false)) return said;
    std::this_thread::sleep_for(kAskAgain);
  }
}

}  // namespace

void add_capture_options(CLI::App& command, CaptureArguments& arguments) {
  add_option(command, "--seconds SECONDS", arguments.seconds, "For how long");
  add_option(command, "--output FILE", arguments.output, "Where to; standard output if not given");
  add_option(command, "--admin SOCKET", arguments.admin,
             "The admin socket of a server, router or node; auto: of the one on port 7100");
}

Status read_capture(const std::string& admin, double seconds,
                    const std::function<void(const nlohmann::json&)>& about,
                    const std::function<void(const nlohmann::json&)>& events) {
  const auto started = ask_admin(admin, {{"command", "trace.start"}, {"seconds", seconds}});
  if (!started) return tl::unexpected(started.error());
  const auto trace = started->value("trace", std::uint64_t{0});
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  for (std::uint64_t from = 0;;) {
    const auto said = read_piece(admin, trace, from);
    if (!said) return tl::unexpected(said.error());
    if (from == 0) about(*said);
    events(said->value("events", json::array()));
    if (!said->contains("next")) return {};
    from = said->value("next", std::uint64_t{0});
  }
}

void say_what_was_recorded(const nlohmann::json& about) {
  std::fprintf(stderr, "%llu requests, %llu tasks, %llu records lost\n",
               static_cast<unsigned long long>(about.value("requests", std::uint64_t{0})),
               static_cast<unsigned long long>(about.value("tasks", std::uint64_t{0})),
               static_cast<unsigned long long>(about.value("lost", std::uint64_t{0})));
}

}  // namespace volvox
