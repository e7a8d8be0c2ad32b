#include "cli/output_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/whole_file.h"

namespace volvox {
namespace {

// Of a file that is made.
::mode_t usual_mode() {
  const ::mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

bool takes_files(const std::filesystem::path& folder) {
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

Status not_writable(const std::string& path) {
  return invalid("cannot write to '" + path + "'; is the path right, and has the disk room?");
}

}  // namespace

Status OutputFile::check() const {
  if (path_.empty())
    return std::ferror(stdout) == 0 ? Status{} : invalid("nothing can be written to standard output");
  std::error_code error;
  const std::filesystem::path path = path_;
  const bool there = std::filesystem::exists(path, error);
  const bool writable = there ? ::access(path.c_str(), W_OK) == 0 : takes_files(path.parent_path());
  return writable && !std::filesystem::is_directory(path_, error) ? Status{} : not_writable(path_);
}

void OutputFile::put(const std::string& text) {
  path_.empty() ? void(std::fwrite(text.data(), 1, text.size(), stdout)) : void(text_.append(text));
}

bool OutputFile::close() {
  if (path_.empty()) return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  std::error_code error;
  struct ::stat found {};
  const bool exists = ::stat(path_.c_str(), &found) == 0;
  const bool ours = exists ? S_ISREG(found.st_mode) && found.st_uid == ::geteuid()
                           : !std::filesystem::is_symlink(path_, error);
  const auto file = exists ? std::filesystem::canonical(path_, error) : std::filesystem::path(path_);
  if (ours && takes_files(file.parent_path()))
    return write_whole_file(file, text_, exists ? found.st_mode & 07777 : usual_mode()).has_value();
  // A pipe, a device, somebody else's file, or a folder that is closed to new ones.
  std::ofstream out(path_, std::ios::binary);
  out << text_;
  return out.flush().good();
}

Status check_report_file(const std::string& path) {
  return path.empty() ? Status{} : OutputFile(path).check();
}

Status write_report_file(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  OutputFile file(path);
  file.put(text);
  return file.close() ? Status{} : not_writable(path);
}

}  // namespace volvox
