#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace volvox {

// A folder of this test's own, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// How a process ended.
struct ExitStatus {
  int code = -1;   // what it returned; -1 if a signal ended it
  int signal = 0;  // that signal
  bool operator==(const ExitStatus&) const = default;
};

// A program under test. It dies with this object and with the test's process, whatever happens, so that no
// test leaves an orphan behind. Its standard output and error go to files.
class Process {
 public:
  // Starts `arguments[0]` with the others; standard input is `input`.
  Process(const std::vector<std::string>& arguments, const ScratchFolder& scratch, const std::string& name,
          const std::string& input = "");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  bool running();

  // How it ended, if it does in time.
  std::optional<ExitStatus> wait(std::chrono::milliseconds at_most);

  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

 private:
  std::string out_, err_;
  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
};

// What a finished command left behind.
struct CommandResult {
  bool in_time = false;
  ExitStatus status;
  std::string out, err;

  bool ok() const { return in_time && status == ExitStatus{0, 0}; }
};

// Runs a program to its end, or kills it after `at_most` (times slowness()).
CommandResult run_command(const std::vector<std::string>& arguments, std::chrono::milliseconds at_most,
                          const std::string& input = "");

// The same for `volvox` with these arguments.
CommandResult run_volvox(const std::vector<std::string>& arguments, std::chrono::milliseconds at_most,
                         const std::string& input = "");

// The program under test.
std::string volvox_binary();

// How many times slower than usual this build is (sanitizers), for bounds on time.
int slowness();

}  // namespace volvox
