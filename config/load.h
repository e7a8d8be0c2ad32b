#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/cluster.h"
#include "config/schema.h"

namespace volvox {

// Reads TOML into a configuration: a key that is absent keeps its default, one that is unknown or has the
// wrong type is refused. Errors read "FILE:LINE: section.key: what to do". `name` stands for the file in
// them.
Result<ServeConfig> parse_config(std::string_view toml, std::string_view name);

// The same from a file.
Result<ServeConfig> load_config(const std::filesystem::path& file);

// The same for the processes of a cluster. A file may serve all of them: parse_config reads its [cluster],
// does not ask whether it makes sense, and leaves it out.
Result<ClusterConfig> parse_cluster_config(std::string_view toml, std::string_view name);
Result<ClusterConfig> load_cluster_config(const std::filesystem::path& file);

// A whole file. INVALID_ARGUMENT, which names the file, where it cannot be read.
Result<std::string> read_text_file(const std::filesystem::path& file);

// The configuration as TOML, which parse_config reads back to the same values.
std::string to_toml(const ServeConfig& config);
std::string to_toml(const ClusterConfig& config);

}  // namespace volvox
