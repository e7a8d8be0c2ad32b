#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace volvox {

// In place of a path: the socket of the server on the default port, as admin.socket = "auto" makes it.
inline constexpr const char* kAutoAdmin = "auto";

// Asks a running server over its admin socket, and waits for the answer: as long as it takes to load a model.
// An answer that says no is an error, too.
Result<nlohmann::json> ask_admin(const std::string& path_or_auto, const nlohmann::json& command);

}  // namespace volvox
