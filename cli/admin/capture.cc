#include "cli/admin/capture.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/option.h"

namespace volvox {
namespace {

using nlohmann::json;

constexpr auto kAskAgain = std::chrono::milliseconds(50);

// Of the file that is there, or that would be made.
::mode_t mode_of(const std::string& path) {
  struct ::stat there{};
  if (::stat(path.c_str(), &there) == 0) return there.st_mode & 07777;
  const ::mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

Result<json> read_piece(const std::string& admin, std::uint64_t trace, std::uint64_t from) {
  for (;;) {
    auto said = ask_admin(admin, {{"command", "trace.read"}, {"trace", trace}, {"from", from}});
    if (!said || !said->value("running", false)) return said;
    std::this_thread::sleep_for(kAskAgain);
  }
}

}  // namespace

void add_capture_options(CLI::App& command, CaptureArguments& arguments) {
  add_option(command, "--seconds SECONDS", arguments.seconds, "For how long");
  add_option(command, "--output FILE", arguments.output, "Where to; standard output if not given");
  add_option(command, "--admin SOCKET", arguments.admin,
             "The admin socket of a server, router or node; auto: of the one on port 7100");
}

Status read_capture(const std::string& admin, double seconds,
                    const std::function<void(const nlohmann::json&)>& about,
                    const std::function<void(const nlohmann::json&)>& events) {
  const auto started = ask_admin(admin, {{"command", "trace.start"}, {"seconds", seconds}});
  if (!started) return tl::unexpected(started.error());
  const auto trace = started->value("trace", std::uint64_t{0});
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  for (std::uint64_t from = 0;;) {
    const auto said = read_piece(admin, trace, from);
    if (!said) return tl::unexpected(said.error());
    if (from == 0) about(*said);
    events(said->value("events", json::array()));
    if (!said->contains("next")) return {};
    from = said->value("next", std::uint64_t{0});
  }
}

void say_what_was_recorded(const nlohmann::json& about) {
  std::fprintf(stderr, "%llu requests, %llu tasks, %llu records lost\n",
               static_cast<unsigned long long>(about.value("requests", std::uint64_t{0})),
               static_cast<unsigned long long>(about.value("tasks", std::uint64_t{0})),
               static_cast<unsigned long long>(about.value("lost", std::uint64_t{0})));
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (path.empty()) {
    file_ = stdout;
  } else if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found) {
    file_ = std::fopen(path.c_str(), "w");  // a pipe or a device
  } else {
    if (type == std::filesystem::file_type::regular) path_ = std::filesystem::canonical(path, error).string();
    unfinished_ = path_ + ".XXXXXX";
    const int fd = ::mkstemp(unfinished_.data());
    if (fd >= 0) file_ = ::fdopen(fd, "w");
    if (file_ == nullptr) unfinished_.clear();
    if (file_ == nullptr) file_ = std::fopen(path.c_str(), "w");  // its folder may be closed to new files
  }
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  if (file_ != stdout) std::fclose(file_);
  if (!unfinished_.empty()) std::remove(unfinished_.c_str());
}

bool OutputFile::good() const {
  return file_ != nullptr && std::ferror(file_) == 0;
}

void OutputFile::put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file_);
}

bool OutputFile::close() {
  if (file_ == nullptr) return false;
  bool written = std::fflush(file_) == 0 && good();
  if (!unfinished_.empty()) written = ::fchmod(::fileno(file_), mode_of(path_)) == 0 && written;
  if (file_ != stdout) written = std::fclose(file_) == 0 && written;
  file_ = nullptr;
  if (unfinished_.empty()) return written;
  written = written && std::rename(unfinished_.c_str(), path_.c_str()) == 0;
  if (!written) std::remove(unfinished_.c_str());
  return written;
}

}  // namespace volvox
