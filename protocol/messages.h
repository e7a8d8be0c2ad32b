#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "protocol/buffer.h"
#include "protocol/tensor.h"

namespace volvox {

// What travels, as plain values; protocol/volvox.capnp says what each field means, docs/protocol.md how to
// use it. Enumerators carry the wire's numbers: append, never reorder.

// The version this build writes, and the oldest it reads.
inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::uint16_t kOldestProtocolVersion = 1;

enum class RequestKind : std::uint8_t { kInfer, kCancel, kPing, kBundle };
enum class ReplyKind : std::uint8_t { kResult, kPartial, kError, kPong, kBundle };
enum class WirePriority : std::uint8_t { kNormal, kHigh, kLow };
enum class SessionOperation : std::uint8_t { kNone, kBegin, kContinue, kEnd };

std::string_view to_string(RequestKind kind);       // "infer", …
std::string_view to_string(ReplyKind kind);         // "result", …
std::string_view to_string(WirePriority priority);  // "normal", …

struct WireSessionToken {
  std::uint64_t id_hi = 0, id_lo = 0;
  std::uint32_t model_version = 0;
  SessionOperation operation = SessionOperation::kNone;
  std::uint64_t model_digest = 0;
  std::uint64_t numerics_id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t nonce = 0;
  std::uint64_t sequence = 0;
  std::string home, replica;
  std::uint64_t nonce_hi = 0;

  bool operator==(const WireSessionToken&) const = default;
};

// The first frame of a request, all that a gateway or router reads. Owns its texts.
struct RequestHeader {
  std::uint16_t version = kProtocolVersion;
  RequestKind kind = RequestKind::kInfer;
  WirePriority priority = WirePriority::kNormal;
  std::uint64_t request_id = 0;  // chosen by the client; 0 only in a ping that is a sign of life
  std::string model;
  std::uint32_t model_version = 0;  // 0 = the newest
  std::uint32_t cells_hint = 0;     // 0 = unknown
  std::uint64_t deadline_us = 0;    // what is left when sent; 0 = none
  std::uint64_t trace_hi = 0, trace_lo = 0;
  std::optional<WireSessionToken> session;
  bool stream = false;            // rows of outputs that have one for every step come as partials
  std::uint32_t stream_from = 0;  // the first partial that is wanted
  std::uint32_t parts = 0;        // of a bundle or a cancel: ids that are meant, from request_id on
  std::uint64_t parent_span = 0;  // of the trace: the sender's own span; 0 = none
  bool trace_sampled = false;     // the sender records the trace

  bool operator==(const RequestHeader&) const = default;
};

// The second frame of a request. Views only. When it was decoded, `storage` keeps alive what they view, and
// copies share it; when it is built by a sender, storage is empty and the views belong to the sender until it
// is encoded.
struct RequestBody {
  Structure structure;
  std::vector<WireTensor> inputs;
  std::vector<std::string_view> outputs;  // empty = all that the model declares
  std::shared_ptr<const WireBuffer> storage;
};

struct WireTimings {
  std::uint64_t queue_us = 0;    // arrival to the first cell's start
  std::uint64_t compute_us = 0;  // first cell's start to the last one's end
  std::uint64_t total_us = 0;    // arrival to this reply

  bool operator==(const WireTimings&) const = default;
};

// The first frame of a reply. Owns its texts.
struct ReplyHeader {
  std::uint16_t version = kProtocolVersion;
  ReplyKind kind = ReplyKind::kResult;
  bool final = true;             // nothing more comes for this request
  std::uint64_t request_id = 0;  // 0 = the request's id could not be read
  std::uint32_t index = 0;       // of a partial, from 0
  std::uint32_t cells = 0;
  std::uint32_t model_version = 0;   // that answered; 0: nobody did, or the server does not say
  Error error;                       // meaningful with kError only
  std::uint64_t retry_after_us = 0;  // with kError; 0 = no advice
  bool undecided = false;            // with kError, of a session's part: perhaps it was done all the same
  WireTimings timings;
  std::string server;
  std::optional<WireSessionToken> session;

  bool operator==(const ReplyHeader&) const = default;
};

// The second frame of a reply; empty with an error or a pong. Views as in RequestBody.
struct ReplyBody {
  std::vector<WireTensor> outputs;
  std::shared_ptr<const WireBuffer> storage;

  // The output of that name, or null.
  const WireTensor* find(std::string_view name) const;
};

// The header of a refusal: kind error, final, no body.
ReplyHeader error_reply(std::uint64_t request_id, Error error);

}  // namespace volvox
