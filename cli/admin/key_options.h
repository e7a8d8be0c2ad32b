#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "protocol/client/channel.h"

namespace volvox {

// The two files that a command needs to speak with a server that encrypts; both or neither.
struct KeyFiles {
  std::string server_key, client_key;
};

// Adds --server-key and --client-key.
void add_key_options(CLI::App& command, KeyFiles& files);

// Reads the files; nothing when none were given. INVALID_ARGUMENT names the file that is wrong.
Result<std::optional<ChannelKeys>> read_keys(const KeyFiles& files);

}  // namespace volvox
