#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "tracing/recorder.h"

namespace volvox {

// A capture as events of the Trace Event Format, which Perfetto and chrome://tracing open. Each worker is a
// thread whose slices are its tasks; each request an asynchronous track of its own with its parts, a slice
// on the thread "requests" when it arrives, and a flow from there to its first task and its last one: so one
// sees requests join and leave batches. Times are microseconds since the capture began. Any thread.
class PerfettoEvents {
 public:
  // `pid` and `process`: whose capture it is.
  PerfettoEvents(TraceCapturePtr capture, std::uint64_t pid, std::string process);

  // What must be said first: the names of the tracks.
  nlohmann::json names() const;
  // Records to be written: tasks, then requests.
  std::size_t size() const { return capture_->tasks.size() + capture_->requests.size(); }
  // Appends the events of record `number`.
  void append(std::size_t number, nlohmann::json& events) const;
  const TraceCapture& capture() const { return *capture_; }

 private:
  struct Tasks {
    std::size_t first = 0, last = 0;  // of capture_->tasks
    bool leaves = false;              // `last` is known to be its last one
  };

  nlohmann::json event(const char* phase, TimePoint at) const;
  void append_task(std::size_t number, nlohmann::json& events) const;
  void append_request(std::size_t number, nlohmann::json& events) const;
  nlohmann::json flow(const char* phase, std::uint64_t key, TimePoint at, std::uint64_t thread) const;

  const TraceCapturePtr capture_;
  const std::uint64_t pid_;
  const std::string process_;
  std::unordered_map<std::uint64_t, Tasks> tasks_of_;  // by the request's key; of requests in the capture
};

}  // namespace volvox
