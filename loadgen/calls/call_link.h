#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/error.h"
#include "base/time.h"
#include "protocol/tensor.h"

namespace volvox {

// A frame as it is sent: a part of the session that is its call. The samples are borrowed until send()
// returns.
struct CallFrame {
  std::uint32_t call = 0;            // the call's slot
  std::uint64_t ticket = 0;          // comes back with the answer; no other sending has it: see ticket_of()
  std::uint64_t number = 0;          // of the frame in its call; 0 begins a new one in the slot
  bool last = false;                 // ends the call; never its first
  bool repeated = false;             // was sent before, with another ticket
  std::span<const float> samples{};  // of one step; none with a last frame that only ends the call

  // Tickets tell the slot; within it they grow. `serial` counts sendings, from 1.
  static constexpr unsigned kSerialBits = 40;
  static std::uint64_t ticket_of(std::uint32_t call, std::uint64_t serial) {
    return std::uint64_t{call} << kSerialBits | serial;
  }
  static std::size_t slot_of(std::uint64_t ticket) { return static_cast<std::size_t>(ticket >> kSerialBits); }
};

struct CallAnswer {
  std::uint64_t ticket = 0;
  const Error* error = nullptr;           // null: it is good
  Duration retry_after{};                 // with an error, what the server advises
  std::span<const WireTensor> outputs{};  // with a good one
};

// Things that go wrong without a frame's being answered wrongly.
struct CallLinkCounts {
  std::uint64_t duplicates = 0;    // answers to what was answered, or never asked
  std::uint64_t late_answers = 0;  // to what was given up
  std::uint64_t resent = 0;        // to another router
};

// A load's way to a server, and its clock. Knows the wire, and the sessions' tokens by slot; what is sent
// when is not its business. One thread.
class CallLink {
 public:
  // May call send(). What it is given is valid until it returns.
  using Handler = std::function<void(const CallAnswer&)>;

  virtual ~CallLink() = default;
  virtual TimePoint now() = 0;
  // Takes a frame, of a begun call or its first; never blocks. After an error nothing was taken, and no
  // answer comes.
  virtual Status send(const CallFrame& frame) = 0;
  // What was taken since the last time is on its way when this returns: for a link that puts the frames of
  // several calls into one message.
  virtual Status flush() = 0;
  // Hands over what has come; waits for it at most so long.
  virtual void receive(Duration at_most, const Handler& handler) = 0;
  virtual CallLinkCounts counts() const = 0;
};

}  // namespace volvox
