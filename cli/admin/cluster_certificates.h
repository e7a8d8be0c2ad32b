#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace volvox {

struct ClusterCertificates {
  std::vector<std::string> names;  // of routers and nodes
  int days = 365;
};

// Writes FOLDER/cluster/NAME.crt and NAME.key for each name, signed by the authority in FOLDER/cluster/ca.crt
// and ca.key, which is made when it is not there. Files that are there stay, and are refused. Only their
// owner can read them. Says on standard output what to do with them.
Status write_cluster_certificates(const std::filesystem::path& folder, const ClusterCertificates& wanted);

}  // namespace volvox
