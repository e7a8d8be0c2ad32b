#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace volvox {

// Of server.listen: whose admin socket is asked where none is named.
inline constexpr std::uint16_t kDefaultPort = 7100;

// Asks a running server over its admin socket, and waits for the answer: as long as it takes to load a model.
// An answer that says no is an error, too.
Result<nlohmann::json> ask_admin(const std::string& path, const nlohmann::json& command);

}  // namespace volvox
