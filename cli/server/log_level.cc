#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/admin/admin.h"
#include "cli/commands.h"
#include "cli/option.h"
#include "config/fields.h"

namespace volvox {
namespace {

struct LogLevelArguments {
  std::string level, admin = kAutoAdmin;
};

int change_log_level(const LogLevelArguments& arguments) {
  const auto answer = ask_admin(arguments.admin, {{"command", "log.level"}, {"level", arguments.level}});
  if (answer) return 0;
  std::fprintf(stderr, "volvox log-level: %s\n", to_string(answer.error()).c_str());
  return 1;
}

}  // namespace

void add_log_level_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<LogLevelArguments>();
  CLI::App* command = app.add_subcommand("log-level", "Changes how much a running server says in its log");
  const auto& names = ChoiceNames<LogLevel>::kNames;
  add_option(*command, "level", arguments->level, "debug, info, warning, error or off")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
  add_option(*command, "--admin SOCKET", arguments->admin,
             "The server's admin socket; auto: of the one on port 7100");
  command->callback([arguments, &run] { run = [arguments] { return change_log_level(*arguments); }; });
}

}  // namespace volvox
