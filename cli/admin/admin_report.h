#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace volvox {

// What a router, node or server says of itself over its admin socket: how it is, with its "members" if it is
// a router, else with its "models".
Result<nlohmann::json> ask_admin_status(const std::string& path);

// A few lines and a table for people. Text of unknown origin: control characters are replaced.
std::string admin_report(const nlohmann::json& status);

}  // namespace volvox
