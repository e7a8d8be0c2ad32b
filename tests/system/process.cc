#include "tests/system/process.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sanitized.h"

namespace volvox {
namespace {

// Only calls that are safe between fork() and exec().
[[noreturn]] void become(char* const* arguments, int in, int out, int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(arguments[0], arguments);
  _exit(127);
}

int open_file(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error("cannot open " + path);
  return fd;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "volvox-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Process::Process(const std::vector<std::string>& arguments, const ScratchFolder& scratch,
                 const std::string& name, const std::string& input)
    : out_(scratch.file(name + ".out")), err_(scratch.file(name + ".err")) {
  const std::string in = scratch.file(name + ".in");
  write_file(in, input);
  const int fds[] = {open_file(in, O_RDONLY), open_file(out_, O_WRONLY | O_CREAT | O_TRUNC),
                     open_file(err_, O_WRONLY | O_CREAT | O_TRUNC)};
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) become(pointers.data(), fds[0], fds[1], fds[2]);
  for (const int fd : fds) close(fd);
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Process::~Process() {
  if (!running()) return;
  send(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::send(int signal) const {
  if (!status_) kill(pid_, signal);
}

bool Process::running() {
  return !wait(std::chrono::milliseconds(0)).has_value();
}

std::optional<ExitStatus> Process::wait(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (!status_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = WIFEXITED(status) ? ExitStatus{WEXITSTATUS(status), 0} : ExitStatus{-1, WTERMSIG(status)};
      break;
    }
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status_;
}

CommandResult run_command(const std::vector<std::string>& arguments, std::chrono::milliseconds at_most,
                          const std::string& input) {
  const ScratchFolder scratch;
  Process process(arguments, scratch, "command", input);
  CommandResult result;
  if (const auto status = process.wait(at_most * slowness())) {
    result.in_time = true;
    result.status = *status;
  }
  result.out = process.out();
  result.err = process.err();
  return result;
}

CommandResult run_volvox(const std::vector<std::string>& arguments, std::chrono::milliseconds at_most,
                         const std::string& input) {
  std::vector<std::string> all{volvox_binary()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_command(all, at_most, input);
}

std::string volvox_binary() {
  return VOLVOX_BINARY;
}

int slowness() {
  return kSanitized ? 5 : 1;
}

}  // namespace volvox
