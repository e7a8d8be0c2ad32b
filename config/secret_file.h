#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <sys/types.h>

#include "base/error.h"

namespace volvox {

// Writes a new file; an existing one is refused, and stays. UNAVAILABLE says why it cannot be written.
Status write_new_file(const std::filesystem::path& file, const std::string& text, ::mode_t mode);

// The content of a file that holds no secret, at most so many bytes. Nobody waits for a pipe.
Result<std::string> read_open_file(const std::filesystem::path& file, std::size_t largest);

// The content of one that does. It must be this user's or root's own, and nobody else's to read or write;
// INVALID_ARGUMENT says what to do about it. A credential of systemd, root's own in $CREDENTIALS_DIRECTORY,
// may show a group that may read it: that is the service, by an access list.
Result<std::string> read_secret_file(const std::filesystem::path& file, std::size_t largest);

}  // namespace volvox
