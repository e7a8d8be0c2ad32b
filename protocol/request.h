#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "protocol/messages.h"

namespace volvox {

// What a client asks: a header, a body, and how long it is willing to wait.
// The body's tensors and names are borrowed: they must live until the call that sends the request returns.
struct ClientRequest {
  RequestHeader header;  // request_id 0: the client library numbers it (Client always does)
  RequestBody body;

  // After this long without an answer the client library itself answers DEADLINE_EXCEEDED. 0: the
  // connection's default. The server is told nothing of it; what it is told is header.deadline_us.
  Duration timeout{0};
};

// A request for `model` over a sequence: `tokens` is passed as its input `input`, one per step.
template <class Token, std::size_t Extent>
ClientRequest chain_request(std::string model, std::string_view input, std::span<Token, Extent> tokens) {
  ClientRequest request;
  request.header.model = std::move(model);
  request.header.cells_hint = static_cast<std::uint32_t>(tokens.size());
  request.body.structure = ChainStructure{static_cast<std::uint32_t>(tokens.size())};
  request.body.inputs.push_back(wire_tensor(input, tokens));
  return request;
}

// The same for steps of `width` elements each: `rows` holds them one after the other, shape [steps, width].
template <class Element, std::size_t Extent>
ClientRequest chain_request(std::string model, std::string_view input, std::span<Element, Extent> rows,
                            std::size_t width) {
  const std::size_t steps = width == 0 ? 0 : rows.size() / width;
  ClientRequest request;
  request.header.model = std::move(model);
  request.header.cells_hint = static_cast<std::uint32_t>(steps);
  request.body.structure = ChainStructure{static_cast<std::uint32_t>(steps)};
  request.body.inputs.push_back(
      wire_tensor(input, rows, {static_cast<std::int64_t>(steps), static_cast<std::int64_t>(width)}));
  return request;
}

// A request for `model` over a tree: `parents` has each node's parent, -1 for the root, which is the last
// node; `tokens`, its input `input`, a row for each node.
template <class Token, std::size_t Extent>
ClientRequest tree_request(std::string model, std::string_view input, std::span<Token, Extent> tokens,
                           std::span<const std::int32_t> parents) {
  ClientRequest request = chain_request(std::move(model), input, tokens);
  request.header.cells_hint = static_cast<std::uint32_t>(parents.size());
  request.body.structure = TreeStructure{parents};
  return request;
}

// What comes back, from the server or, with `local`, from the client library itself (time limit, lost
// connection, closing).
struct Reply {
  ReplyHeader header;
  ReplyBody body;
  bool local = false;
  Duration elapsed{0};  // since the request was sent

  // Whether this is a success, and if not, why.
  Status status() const {
    if (header.kind != ReplyKind::kError) return {};
    return tl::unexpected<Error>(header.error);
  }
};

// An answer of the client library itself.
inline Reply local_reply(std::uint64_t id, Error error, Duration elapsed) {
  return {error_reply(id, std::move(error)), {}, true, elapsed};
}

}  // namespace volvox
