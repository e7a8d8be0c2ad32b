#pragma once

#include <cstdint>

#include "tracing/trace_context.h"

namespace volvox {

// Which request a line of the log is about: while one of these lives, each line that its thread logs says so,
// by the number that the client gave the request and by its trace, as far as they are known. Of several the
// newest counts. Belongs to the thread that made it, and must go in the order of a stack.
class LogSubject {
 public:
  explicit LogSubject(std::uint64_t request, TraceId trace = {});
  ~LogSubject();
  LogSubject(const LogSubject&) = delete;
  LogSubject& operator=(const LogSubject&) = delete;

  std::uint64_t request() const { return request_; }  // 0: none
  TraceId trace() const { return trace_; }

  // That of the calling thread; null: its lines are about no request.
  static const LogSubject* current();

 private:
  std::uint64_t request_;
  TraceId trace_;
  const LogSubject* outer_;
};

}  // namespace volvox
