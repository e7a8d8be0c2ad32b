#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "tracing/records.h"

namespace volvox {

class TraceRecorder;

// A traced request while it lives. It goes with the request, whose stages run on several threads, and
// sometimes at once (who gives up answers while a task still runs): so each notes what it knows here, and
// what was noted is recorded when the last of them lets go. Any thread.
class LiveSpan {
 public:
  LiveSpan(std::shared_ptr<TraceRecorder> recorder, RequestSpan begun, TraceAims aims);
  ~LiveSpan();
  LiveSpan(const LiveSpan&) = delete;
  LiveSpan& operator=(const LiveSpan&) = delete;

  // The request's number, which its door gives it. Before others see it.
  void set_key(std::uint64_t key) { begun_.key = key; }
  // The last time counts: a request may be run again.
  void reach(SpanStage stage, TimePoint at) {
    reached_[static_cast<std::size_t>(stage)].store(at.time_since_epoch().count(), std::memory_order_relaxed);
  }
  // A router's: it goes to this node. One thread.
  void place(const std::string& node, TimePoint at);
  void end(std::optional<ErrorCode> error, std::uint32_t cells);
  // As size_of() counts its structure.
  void set_size(std::uint32_t size) { size_.store(size, std::memory_order_relaxed); }

  // Whether the tasks that have rows of it are to be recorded, too.
  bool captured() const { return aims_.captured; }
  // What the next process is to know: this span is its parent.
  TraceContext child_context() const {
    return {begun_.context.trace, begun_.span, aims_.exported || begun_.context.sampled};
  }

 private:
  static constexpr std::int64_t kNever = 0;

  const std::shared_ptr<TraceRecorder> recorder_;
  RequestSpan begun_;
  const TraceAims aims_;
  std::array<std::atomic<std::int64_t>, kSpanStages> reached_{};  // ns; kNever
  std::atomic<std::uint32_t> error_{0}, cells_{0}, size_{0};      // error: 0 for none
};

}  // namespace volvox
