#include "cli/server/port_file.h"

#include "cli/whole_file.h"

namespace volvox {

Status write_port_file(const std::string& path, const std::string& lines) {
  return write_whole_file(path, lines, 0644);  // addresses are no secret
}

}  // namespace volvox
