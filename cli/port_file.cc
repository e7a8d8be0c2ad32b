#include "cli/port_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace volvox {

Status write_port_file(const std::string& path, const std::string& lines) {
  const std::string unfinished = path + ".new";
  std::ofstream file(unfinished);
  file << lines;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(unfinished, path, error);
  if (!file || error) return fail(ErrorCode::kUnavailable, path + " cannot be written; is its folder there?");
  return {};
}

}  // namespace volvox
