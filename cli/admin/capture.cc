#include "cli/admin/capture.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/option.h"
#include "cli/whole_file.h"

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

bool OutputFile::good() const {
  if (path_.empty()) return std::ferror(stdout) == 0;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const bool there = std::filesystem::exists(path_, error);
  return ::access(there ? path_.c_str() : folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

void OutputFile::put(const std::string& text) {
  path_.empty() ? void(std::fwrite(text.data(), 1, text.size(), stdout)) : void(text_.append(text));
}

bool OutputFile::close() {
  if (path_.empty()) return std::fflush(stdout) == 0 && good();
  std::error_code error;
  const auto type = std::filesystem::status(path_, error).type();
  const bool there = type == std::filesystem::file_type::regular;
  const bool missing =
      type == std::filesystem::file_type::not_found && !std::filesystem::is_symlink(path_, error);
  const auto file = there ? std::filesystem::canonical(path_, error) : std::filesystem::path(path_);
  if ((there || missing) && write_whole_file(file, text_, mode_of(file))) return true;
  // A pipe, a device, or a folder that is closed to new files.
  std::ofstream out(path_, std::ios::binary);
  out << text_;
  return out.flush().good();
}

}  // namespace volvox
