#include "actors/admin_commands.h"

#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "monitoring/logging.h"

namespace volvox {
namespace {

using nlohmann::json;
using Replier = std::function<void(std::string)>;

std::string text(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string failure(const Error& error) {
  return text(
      {{"ok", false}, {"error", {{"code", std::string(to_string(error.code))}, {"message", error.message}}}});
}

std::string outcome(const Status& status) {
  return status ? text({{"ok", true}}) : failure(status.error());
}

Result<json> parse(const std::string& line) {
  json command = json::parse(line, nullptr, false);
  if (command.is_object()) return command;
  return invalid("a command is one line with a JSON object: {\"command\": \"status\"}");
}

Result<std::string> string_in(const json& command, const char* key) {
  const auto found = command.find(key);
  if (found != command.end() && found->is_string()) return found->get<std::string>();
  return invalid(std::string(key) + " must be given, as a string");
}

Result<std::uint32_t> version_in(const json& command) {
  const auto found = command.find("version");
  if (found == command.end()) return 0U;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= kMost) return found->get<std::uint32_t>();
  return invalid("version must be a whole number");
}

json model_json(const ModelState& model) {
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(model.digest));
  return {{"name", model.name},
          {"version", model.version},
          {"state", model.draining ? "draining" : "serving"},
          {"digest", digest},
          {"state_bytes", model.state_bytes}};
}

std::string list(const ModelHost& host) {
  json models = json::array();
  for (const ModelState& model : host.list()) models.push_back(model_json(model));
  return text({{"ok", true}, {"models", std::move(models)}});
}

std::optional<LogLevel> level_named(const std::string& name) {
  const auto& names = ChoiceNames<LogLevel>::kNames;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::string change_level(const json& command) {
  const auto name = string_in(command, "level");
  if (!name) return failure(name.error());
  const auto level = level_named(*name);
  if (!level)
    return failure({ErrorCode::kInvalidArgument, "level must be one of debug, info, warning, error, off"});
  set_log_level(*level);
  return text({{"ok", true}, {"level", *name}});
}

std::string status(const std::string& server, const ModelHost& host, const Monitor& monitor) {
  std::string readiness = monitor.readiness_page().body;
  if (!readiness.empty() && readiness.back() == '\n') readiness.pop_back();
  return text({{"ok", true},
               {"server", server},
               {"version", monitor.version()},
               {"readiness", readiness},
               {"models", host.list().size()},
               {"log_level", std::string(choice_name(log_level()))}});
}

using ModelCommand = void (ModelHost::*)(const std::string&, std::uint32_t, ModelHost::Done);

std::optional<ModelCommand> model_command(const std::string& name) {
  if (name == "models.load") return &ModelHost::load;
  if (name == "models.unload") return &ModelHost::unload;
  if (name == "models.reload") return &ModelHost::reload;
  return std::nullopt;
}

void run_model_command(ModelHost& host, ModelCommand run, const json& command, Replier reply) {
  const auto model = string_in(command, "model");
  if (!model) return reply(failure(model.error()));
  const auto version = version_in(command);
  if (!version) return reply(failure(version.error()));
  (host.*run)(*model, *version, [reply = std::move(reply)](const Status& status) { reply(outcome(status)); });
}

}  // namespace

void AdminCommands::handle(const std::string& line, Replier reply) const {
  const auto command = parse(line);
  if (!command) return reply(failure(command.error()));
  const auto name = string_in(*command, "command");
  if (!name) return reply(failure(name.error()));
  if (const auto run = model_command(*name))
    return run_model_command(host_, *run, *command, std::move(reply));
  if (*name == "models.list") return reply(list(host_));
  if (*name == "log.level") return reply(change_level(*command));
  if (*name == "status") return reply(status(server_, host_, monitor_));
  reply(failure({ErrorCode::kInvalidArgument,
                 "there is no such command; there are status, log.level, models.list, models.load, "
                 "models.unload, models.reload"}));
}

}  // namespace volvox
