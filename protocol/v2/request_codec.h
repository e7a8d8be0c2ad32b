#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "protocol/v2/structure_reader.h"

namespace volvox {

// In which form a client of the Open Inference Protocol wants its outputs.
struct V2Wishes {
  struct Output {
    std::string name;
    bool binary = false;
  };
  bool binary = false;          // of those that are not named
  std::vector<Output> outputs;  // empty: all that the model declares

  bool wants_binary(std::string_view output) const;
};

// Which sequence a request is a part of: a stream whose state outlives one request.
struct V2Sequence {
  std::string id;  // as it stands in the JSON: 7 and "7" are two; empty: the request stands alone
  bool start = false, end = false;

  // An end may come without inputs: then it only ends its sequence.
  bool may_be_empty() const { return !id.empty() && end && !start; }
};

// An inference request of the Open Inference Protocol v2, as the house's own. `body` views what the other
// members hold and, for binary inputs, the content that it was decoded from, which must live until the body
// is encoded. May be moved, not copied.
struct V2Request {
  RequestHeader header;  // priority and deadline; model, version and request id are the caller's to fill in
  RequestBody body;
  std::string id;  // the client's own, to be given back; empty: none
  V2Wishes wishes;
  V2Sequence sequence;

  std::deque<std::string> names;  // a deque keeps its elements' addresses when it moves
  std::deque<std::vector<std::byte>> tensors;
  V2Structure written;  // what the body's structure views

  V2Request() = default;
  V2Request(V2Request&&) = default;
  V2Request& operator=(V2Request&&) = default;
  V2Request(const V2Request&) = delete;
  V2Request& operator=(const V2Request&) = delete;
};

// Decodes the content of a POST to …/infer. `json_bytes` is the Inference-Header-Content-Length, if it was
// given: the JSON's length, which the binary inputs follow in their order. The content comes from strangers:
// any bytes are taken, all that is wrong is INVALID_ARGUMENT with a sentence, and memory grows with the
// content's own size. Each tensor's bytes agree with its type and shape afterwards; what a model wants is not
// looked at. Without a parameter "structure" it is a chain as long as the first dimension of the first input.
// Pure: any thread.
Result<V2Request> decode_v2_request(std::span<const std::byte> content, std::optional<std::size_t> json_bytes,
                                    const WireLimits& limits);

}  // namespace volvox
