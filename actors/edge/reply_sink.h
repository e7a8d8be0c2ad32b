#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "actors/work/work.h"

namespace volvox {

// Where answers go: the gateway, a thread that waits, or a test.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // The one answer to this request. Any thread; never blocks.
  virtual void answer(const IncomingRequest& request, const Outcome& outcome) = 0;
  // The same of parts of one bundle, the id of whose part 0 this is.
  struct Answered {
    const IncomingRequest* request = nullptr;
    const Outcome* outcome = nullptr;
  };
  virtual void answer_parts(std::uint64_t first_id, std::span<const Answered> parts);
  // A part of the answer of a streamed request, before it. False: it cannot be taken, so that no later one
  // may follow. Any thread; never blocks.
  virtual bool partial(const IncomingRequest& request, std::uint32_t index, const Outcome& part);
};

// The right to answer one request: used at most once, and used for certain. If its owner ends without an
// answer, the client is told INTERNAL. Owned by one actor; one that was moved from counts as used.
class ReplyTicket {
 public:
  ReplyTicket(std::shared_ptr<ReplySink> sink, RequestPtr request)
      : sink_(std::move(sink)), request_(std::move(request)) {}
  ~ReplyTicket();
  ReplyTicket(ReplyTicket&& other) noexcept
      : sink_(std::exchange(other.sink_, nullptr)), request_(other.request_) {}
  ReplyTicket& operator=(ReplyTicket&&) = delete;

  const IncomingRequest& request() const { return *request_; }
  bool used() const { return sink_ == nullptr; }
  // As ReplySink::partial; true, and nothing, when the ticket was used before.
  bool partial(std::uint32_t index, const Outcome& part);
  // Does nothing when the ticket was used before.
  void answer(const Outcome& outcome);
  void answer(ErrorCode code, const char* message);

 private:
  std::shared_ptr<ReplySink> sink_;
  RequestPtr request_;
};

}  // namespace volvox
