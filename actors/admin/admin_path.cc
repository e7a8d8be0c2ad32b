#include "actors/admin/admin_path.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace volvox {

std::string default_admin_path(std::uint16_t port) {
  const std::string name = std::to_string(port) + ".sock";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code ignored;
  if (runtime != nullptr && std::filesystem::is_directory(runtime, ignored))
    return std::string(runtime) + "/volvox-" + name;
  return std::string(P_tmpdir) + "/volvox-" + std::to_string(::geteuid()) + "/" + name;
}

Status make_admin_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return fail(ErrorCode::kUnavailable, folder + " cannot be made: " + std::strerror(errno));
  struct stat there {};
  const bool is_mine = ::lstat(folder.c_str(), &there) == 0 && S_ISDIR(there.st_mode) &&
                       there.st_uid == ::geteuid() && (there.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  if (is_mine) return {};
  return fail(ErrorCode::kPermissionDenied,
              folder + " is not this user's alone; remove it, or name another path with --admin");
}

}  // namespace volvox
