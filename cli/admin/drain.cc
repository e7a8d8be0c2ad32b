#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "cli/admin/admin.h"
#include "cli/admin/cluster_commands.h"
#include "cli/option.h"

namespace volvox {
namespace {

struct DrainArguments {
  std::string node, admin = kAutoAdmin;
  double wait_s = 0;
};

Result<bool> is_member(const DrainArguments& arguments) {
  const auto status = ask_admin(arguments.admin, {{"command", "status"}});
  if (!status) return tl::unexpected(status.error());
  for (const nlohmann::json& member : status->value("members", nlohmann::json::array()))
    if (member.value("name", "") == arguments.node) return true;
  return false;
}

Status wait_until_gone(const DrainArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(arguments.wait_s);
  for (;;) {
    const auto member = is_member(arguments);
    if (!member) return tl::unexpected(member.error());
    if (!*member) return {};
    if (Clock::now() >= until) {
      return fail(
          ErrorCode::kDeadlineExceeded,
          "the node still drains; it leaves when its requests have ended, or its drain timeout is over");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

int drain(const DrainArguments& arguments) {
  const auto asked = ask_admin(arguments.admin, {{"command", "drain"}, {"node", arguments.node}});
  Status done;
  if (!asked) done = tl::unexpected(asked.error());
  if (done && arguments.wait_s > 0) done = wait_until_gone(arguments);
  if (done) return 0;
  std::fprintf(stderr, "volvox drain: %s\n", to_string(done.error()).c_str());
  return 1;
}

}  // namespace

void add_drain_command(CLI::App& app, CommandBody& run) {
  auto arguments = std::make_shared<DrainArguments>();
  CLI::App* command = app.add_subcommand(
      "drain", "Tells a node of a cluster to finish what it has, and to leave: by one of its routers");
  add_option(*command, "node NAME", arguments->node, "The node's name")->required();
  add_option(*command, "--admin SOCKET", arguments->admin,
             "The router's admin socket; auto: of the one on port 7100");
  add_option(*command, "--wait SECONDS", arguments->wait_s, "Wait so many seconds at most until it has left")
      ->check(CLI::Range(0.0, 86400.0));
  command->callback([arguments, &run] { run = [arguments] { return drain(*arguments); }; });
}

}  // namespace volvox
