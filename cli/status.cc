#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "loadgen/server_status.h"

namespace volvox {
namespace {

struct StatusArguments {
  std::string url = "http://127.0.0.1:7101";
  double interval_s = 1;
  bool json = false;
};

constexpr auto kPatience = std::chrono::seconds(5);

int run_status(const StatusArguments& arguments) {
  const auto fail_with = [](const Error& error) {
    std::fprintf(stderr, "volvox status: %s\n", to_string(error).c_str());
    return 1;
  };
  auto status = read_server_status(arguments.url, kPatience);
  if (!status) return fail_with(status.error());
  std::optional<ServerStatus> earlier;
  if (arguments.interval_s > 0) {
    earlier = std::move(*status);
    std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval_s));
    status = read_server_status(arguments.url, kPatience);
    if (!status) return fail_with(status.error());
  }
  const ServerStatus* before = earlier ? &*earlier : nullptr;
  const std::string text = arguments.json ? status_json(*status, before, arguments.interval_s).dump(2) + "\n"
                                          : status_text(*status, before, arguments.interval_s);
  std::fputs(text.c_str(), stdout);
  return status->healthy && status->ready() ? 0 : 1;
}

}  // namespace

void add_status_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* command = app.add_subcommand("status", "Shows what a server is doing; fails unless it is ready");
  command->add_option("url", arguments->url, "Where the server's monitoring answers")->capture_default_str();
  command->add_option("--interval", arguments->interval_s, "Seconds over which rates are taken; 0 for none")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "For programs");
  command->callback([arguments, &run] { run = [arguments] { return run_status(*arguments); }; });
}

}  // namespace volvox
