#include "actors/admin/admin_commands.h"

#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "actors/admin/admin_line.h"

namespace volvox {
namespace {

using nlohmann::json;
using Replier = std::function<void(std::string)>;

Result<std::uint32_t> version_in(const json& command) {
  const auto found = command.find("version");
  if (found == command.end()) return 0U;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= kMost) return found->get<std::uint32_t>();
  return invalid("version must be a whole number");
}

json model_json(const ModelState& model) {
  return {{"name", model.name},
          {"version", model.version},
          {"state", model.draining ? "draining" : "serving"},
          {"digest", digest_text(model.digest)},
          {"state_bytes", model.state_bytes},
          {"folded_bytes", model.folded_bytes}};
}

std::string list(const ModelHost& host) {
  json models = json::array();
  for (const ModelState& model : host.list()) models.push_back(model_json(model));
  return admin_text({{"ok", true}, {"models", std::move(models)}});
}

std::string status(const std::string& server, const ModelHost& host, const Monitor& monitor) {
  json status = admin_status(server, monitor);
  status["models"] = host.list().size();
  return admin_text(status);
}

using ModelCommand = void (ModelHost::*)(const std::string&, std::uint32_t, ModelHost::Done);

std::optional<ModelCommand> model_command(const std::string& name) {
  if (name == "models.load") return &ModelHost::load;
  if (name == "models.unload") return &ModelHost::unload;
  if (name == "models.reload") return &ModelHost::reload;
  return std::nullopt;
}

void run_model_command(ModelHost& host, ModelCommand run, const json& command, Replier reply) {
  const auto model = admin_string(command, "model");
  if (!model) return reply(admin_failure(model.error()));
  const auto version = version_in(command);
  if (!version) return reply(admin_failure(version.error()));
  (host.*run)(*model, *version,
              [reply = std::move(reply)](const Status& status) { reply(admin_outcome(status)); });
}

}  // namespace

void AdminCommands::handle(const std::string& line, Replier reply) const {
  const auto command = parse_admin_line(line);
  if (!command) return reply(admin_failure(command.error()));
  const auto name = admin_string(*command, "command");
  if (!name) return reply(admin_failure(name.error()));
  if (const auto run = model_command(*name))
    return run_model_command(host_, *run, *command, std::move(reply));
  if (*name == "models.list") return reply(list(host_));
  if (*name == "log.level") return reply(change_log_level(*command));
  if (*name == "status") return reply(status(server_, host_, monitor_));
  if (auto answer = traces_.handle(*name, *command)) return reply(std::move(*answer));
  if (*name == "drain") {
    return reply(
        admin_failure({ErrorCode::kInvalidArgument,
                       "this is no router: it has no nodes to drain; send the process itself SIGTERM"}));
  }
  reply(admin_failure({ErrorCode::kInvalidArgument,
                       "there is no such command; there are status, log.level, models.list, models.load, "
                       "models.unload, models.reload, trace.start, trace.read"}));
}

}  // namespace volvox
