#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace volvox {

// Where the admin socket of the server on this port is when nobody says: $XDG_RUNTIME_DIR/volvox-PORT.sock,
// or, without such a folder, volvox-UID/PORT.sock in the system's folder for temporary files. Server and
// client agree on it when they run as one user.
std::string default_admin_path(std::uint16_t port);

// Makes the folder of such a path if it is not there. Fails when it is not this user's alone: among temporary
// files anybody may have made it first.
Status make_admin_folder(const std::string& path);

}  // namespace volvox
