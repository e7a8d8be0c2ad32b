#pragma once

#include <filesystem>

#include "base/error.h"
#include "protocol/client/session_stream.h"

namespace volvox {

// A session outlives the process of a command; between two of them its token is in a file, as JSON. The token
// is a key to the session: the file is readable by its owner only.

// What the file says; a new session when there is no file.
Result<SessionStream> read_session_file(const std::filesystem::path& file);
// All of it or nothing.
Status write_session_file(const std::filesystem::path& file, const WireSessionToken& token);

}  // namespace volvox
