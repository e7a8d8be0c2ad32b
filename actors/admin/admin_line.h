#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "monitoring/monitor.h"

namespace volvox {

// What all admin sockets have in common: commands and answers are JSON objects, a line each.

// INVALID_ARGUMENT: the line is no JSON object; the member is no text.
Result<nlohmann::json> parse_admin_line(const std::string& line);
Result<std::string> admin_string(const nlohmann::json& command, const char* key);

std::string admin_text(const nlohmann::json& answer);
std::string admin_failure(const Error& error);
std::string admin_outcome(const Status& status);  // {"ok": true}, or a failure
std::string digest_text(std::uint64_t digest);

// {"command": "log.level", "level": …}
std::string change_log_level(const nlohmann::json& command);
// How the process is; a server adds what it serves.
nlohmann::json admin_status(const std::string& server, const Monitor& monitor);

}  // namespace volvox
