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
  struct ::stat there {};
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
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (path.empty()) {
    file_ = stdout;
  } else if (std::filesystem::exists(path, error)) {
    writable_ = ::access(path.c_str(), W_OK) == 0;
  } else {
    writable_ = ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
  }
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!unfinished_.empty()) std::remove(unfinished_.c_str());
}

// Only now, so that nothing lies there while it is waited for what is to be written.
void OutputFile::open() {
  std::error_code error;
  const bool there = std::filesystem::is_regular_file(path_, error);
  const bool link = std::filesystem::is_symlink(path_, error);
  if (there) path_ = std::filesystem::canonical(path_, error).string();
  if (there || (!link && !std::filesystem::exists(path_, error))) {
    std::string unfinished = path_ + ".XXXXXX";
    const int fd = ::mkstemp(unfinished.data());
    if (fd >= 0) file_ = ::fdopen(fd, "w");
    if (file_ != nullptr) {
      unfinished_ = std::move(unfinished);
    } else if (fd >= 0) {
      ::close(fd);
      std::remove(unfinished.c_str());
    }
  }
  // A pipe, a device, or a folder that is closed to new files.
  if (file_ == nullptr) file_ = std::fopen(path_.c_str(), "w");
  writable_ = file_ != nullptr;
}

bool OutputFile::good() const {
  return writable_ && (file_ == nullptr || std::ferror(file_) == 0);
}

void OutputFile::put(const std::string& text) {
  if (file_ == nullptr && writable_) open();
  if (file_ != nullptr) std::fwrite(text.data(), 1, text.size(), file_);
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
