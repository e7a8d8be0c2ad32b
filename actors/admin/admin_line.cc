#include "actors/admin/admin_line.h"

#include <cstdio>
#include <optional>

#include "config/fields.h"
#include "monitoring/log/logging.h"

namespace volvox {
namespace {

using nlohmann::json;

std::optional<LogLevel> level_named(const std::string& name) {
  const auto& names = ChoiceNames<LogLevel>::kNames;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

}  // namespace

Result<json> parse_admin_line(const std::string& line) {
  json command = json::parse(line, nullptr, false);
  if (command.is_object()) return command;
  return invalid("a command is one line with a JSON object: {\"command\": \"status\"}");
}

Result<std::string> admin_string(const json& command, const char* key) {
  const auto found = command.find(key);
  if (found != command.end() && found->is_string()) return found->get<std::string>();
  return invalid(std::string(key) + " must be given, as a string");
}

std::string admin_text(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string admin_failure(const Error& error) {
  return admin_text(
      {{"ok", false}, {"error", {{"code", std::string(to_string(error.code))}, {"message", error.message}}}});
}

std::string admin_outcome(const Status& status) {
  return status ? admin_text({{"ok", true}}) : admin_failure(status.error());
}

std::string digest_text(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

std::string change_log_level(const json& command) {
  const auto name = admin_string(command, "level");
  if (!name) return admin_failure(name.error());
  const auto level = level_named(*name);
  if (!level)
    return admin_failure(
        {ErrorCode::kInvalidArgument, "level must be one of debug, info, warning, error, off"});
  set_log_level(*level);
  return admin_text({{"ok", true}, {"level", *name}});
}

json admin_status(const std::string& server, const Monitor& monitor) {
  std::string readiness = monitor.readiness_page().body;
  if (!readiness.empty() && readiness.back() == '\n') readiness.pop_back();
  return {{"ok", true},
          {"server", server},
          {"version", monitor.version()},
          {"readiness", readiness},
          {"log_level", std::string(choice_name(log_level()))}};
}

}  // namespace volvox
