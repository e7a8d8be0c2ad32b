#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/clock.h"
#include "cli/admin/admin_report.h"
#include "cli/commands.h"
#include "cli/option.h"
#include "loadgen/run/interrupt.h"
#include "loadgen/server/server_status.h"

namespace volvox {
namespace {

struct StatusArguments {
  std::string url = "http://127.0.0.1:7101", admin;
  double interval_s = 1;
  bool json = false, watch = false, ask_page = true;
};

constexpr auto kPatience = std::chrono::seconds(5);

// What was learned at one time: from the pages of the monitoring, from the admin socket, or from both.
struct Reading {
  TimePoint at{};  // when it began
  std::optional<ServerStatus> page;
  std::optional<nlohmann::json> admin;

  bool ready() const {
    const bool page_is = !page || (page->healthy && page->ready());
    return page_is && (!admin || admin->value("readiness", "") == "ready");
  }
};

Result<Reading> read(const StatusArguments& arguments) {
  Reading reading;
  reading.at = steady_now();
  if (arguments.ask_page) {
    auto page = read_server_status(arguments.url, kPatience);
    if (!page) return tl::unexpected(page.error());
    reading.page = std::move(*page);
  }
  if (!arguments.admin.empty()) {
    auto admin = ask_admin_status(arguments.admin);
    if (!admin) return tl::unexpected(admin.error());
    reading.admin = std::move(*admin);
  }
  return reading;
}

std::string show(const StatusArguments& arguments, const Reading& now, const Reading* before) {
  const ServerStatus* earlier = before != nullptr && before->page ? &*before->page : nullptr;
  const double seconds = before != nullptr ? std::chrono::duration<double>(now.at - before->at).count() : 0;
  if (arguments.json) {
    nlohmann::json all = now.page ? status_json(*now.page, earlier, seconds) : nlohmann::json();
    if (now.admin) all.update(*now.admin);
    all.erase("ok");
    return all.dump(arguments.watch ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::string text = now.page ? status_text(*now.page, earlier, seconds) : "";
  return now.admin ? text + admin_report(*now.admin) : text;
}

int say_failure(const Error& error) {
  std::fprintf(stderr, "volvox status: %s\n", to_string(error).c_str());
  return 1;
}

int show_once(const StatusArguments& arguments) {
  auto reading = read(arguments);
  if (!reading) return say_failure(reading.error());
  std::optional<Reading> earlier;
  if (arguments.ask_page && arguments.interval_s > 0) {
    earlier = std::move(*reading);
    std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval_s));
    reading = read(arguments);
    if (!reading) return say_failure(reading.error());
  }
  std::fputs(show(arguments, *reading, earlier ? &*earlier : nullptr).c_str(), stdout);
  return reading->ready() ? 0 : 1;
}

// Until interrupted; a server that does not answer for a while is shown so.
int watch(const StatusArguments& arguments) {
  const InterruptWatch interrupt;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  std::optional<Reading> earlier;
  while (!interrupt.token().stop_requested()) {
    auto reading = read(arguments);
    const std::string text = reading ? show(arguments, *reading, earlier ? &*earlier : nullptr)
                                     : to_string(reading.error()) + "\n";
    std::printf("%s%s", terminal && !arguments.json ? "\033[H\033[2J" : "", text.c_str());
    std::fflush(stdout);
    earlier = reading ? std::optional(std::move(*reading)) : std::nullopt;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.interval_s);
    while (!interrupt.token().stop_requested() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

int run_status(const StatusArguments& arguments) {
  return arguments.watch ? watch(arguments) : show_once(arguments);
}

}  // namespace

void add_status_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* command =
      app.add_subcommand("status", "Shows what a server, router or node is doing; fails unless it is ready");
  CLI::Option* url = add_option(*command, "url URL", arguments->url, "Where its monitoring answers");
  add_option(*command, "--admin SOCKET", arguments->admin,
             "Its admin socket: shows a router's members, or the models; without a url nothing else");
  add_option(*command, "--interval SECONDS", arguments->interval_s,
             "Seconds over which rates are taken; 0 for none")
      ->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--watch", arguments->watch, "Show it again each --interval seconds, until interrupted");
  command->add_flag("--json", arguments->json, "For programs; with --watch a line each");
  command->callback([arguments, url, &run] {
    arguments->ask_page = arguments->admin.empty() || url->count() > 0;
    if (arguments->watch && arguments->interval_s <= 0) arguments->interval_s = 1;
    run = [arguments] { return run_status(*arguments); };
  });
}

}  // namespace volvox
