#include "actors/admin/router_commands.h"

#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "actors/admin/admin_line.h"
#include "actors/admin/router_admin.h"
#include "actors/system/handoff.h"

namespace volvox {
namespace {

using nlohmann::json;

json model_json(const MemberView::Model& model) {
  return {{"name", model.name},
          {"version", model.version},
          {"digest", digest_text(model.digest)},
          {"gets_traffic", model.gets_traffic}};
}

json member_json(const MemberView& member) {
  json models = json::array();
  for (const MemberView::Model& model : member.models) models.push_back(model_json(model));
  return {{"name", member.name},
          {"state", member.state},
          {"in_flight", member.in_flight},
          {"work_ms", std::chrono::duration<double, std::milli>(member.work).count()},
          {"request_credit", member.request_credit},
          {"byte_credit", member.byte_credit},
          {"models", std::move(models)}};
}

std::string with_members(json status, const std::vector<MemberView>& members) {
  status["members"] = json::array();
  for (const MemberView& member : members) status["members"].push_back(member_json(member));
  return admin_text(status);
}

}  // namespace

void RouterCommands::handle(const std::string& line, std::function<void(std::string)> reply) const {
  const auto command = parse_admin_line(line);
  if (!command) return reply(admin_failure(command.error()));
  const auto name = admin_string(*command, "command");
  if (!name) return reply(admin_failure(name.error()));
  if (*name == "log.level") return reply(change_log_level(*command));
  if (auto answer = traces_.handle(*name, *command)) return reply(std::move(*answer));
  const caf::actor router = router_->get();
  if (!router) {
    return reply(admin_failure(
        {ErrorCode::kUnavailable, "the router has failed and is being started again; try again soon"}));
  }
  if (*name == "status") {
    auto tell = [status = admin_status(name_, monitor_), reply = std::move(reply)](
                    const std::vector<MemberView>& members) { reply(with_members(status, members)); };
    hand_over();
    return caf::anon_send(router, ShowMembers{std::move(tell)});
  }
  if (*name == "drain") {
    const auto node = admin_string(*command, "node");
    if (!node) return reply(admin_failure(node.error()));
    auto tell = [reply = std::move(reply)](const Status& status) { reply(admin_outcome(status)); };
    hand_over();
    return caf::anon_send(router, DrainMember{*node, std::move(tell)});
  }
  if (name->starts_with("models.")) {
    return reply(admin_failure({ErrorCode::kInvalidArgument,
                                "this is a router, which has no models: ask the nodes' admin sockets"}));
  }
  reply(admin_failure(
      {ErrorCode::kInvalidArgument,
       "there is no such command; there are status, log.level, drain, trace.start, trace.read"}));
}

}  // namespace volvox
