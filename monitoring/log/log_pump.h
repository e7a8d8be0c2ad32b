#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"

namespace volvox {

// Whoever reads a process's standard error may stop reading, and a write to it then waits for ever. Nobody
// who has a line to log may wait with it: lines wait here, in bounded number, and a thread of its own writes
// them. When there are too many the oldest go, and are counted; a line says so when writing goes on. All
// signals are blocked in the thread. Any thread may call. The descriptor is not owned, and stays blocking:
// other processes may share it.
class LogPump {
 public:
  // `gap`: the line that says how many others are missing, with its end.
  LogPump(int fd, std::size_t lines, std::function<std::string(std::uint64_t missing)> gap);
  // Writes what waits, as far as somebody reads it within a moment.
  ~LogPump();
  LogPump(const LogPump&) = delete;
  LogPump& operator=(const LogPump&) = delete;

  // A line with its end. Never waits for a reader.
  void push(std::string line);
  // Waits until all is written. False: it took too long.
  bool flush(Duration at_most) const;
  // Lines that were never written.
  std::uint64_t dropped() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread's too: it may be stuck in a write for longer than this lives
};

}  // namespace volvox
