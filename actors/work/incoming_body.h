#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "actors/work/bundle_body.h"
#include "base/error.h"
#include "protocol/buffer.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "routing/sessions/parked_parts.h"

namespace volvox {

// A request's body as its door took it: as its client encoded it, and nobody has looked into it yet; or
// decoded by a door whose clients write no messages; or a part of a bundle. The bytes lie here: what is read
// of them holds `owner`, whose member this is. Immutable once its owner is shared; any thread.
class IncomingBody {
 public:
  using Owner = std::shared_ptr<const void>;

  IncomingBody() = default;  // of no bytes
  explicit IncomingBody(WireBuffer encoded) : size_(encoded.size()), encoded_(std::move(encoded)) {}
  // Of one whose storage holds all that it views (pack_request_body).
  explicit IncomingBody(RequestBody decoded)
      : size_(decoded.storage->size()), decoded_(std::make_unique<const RequestBody>(std::move(decoded))) {}

  // Of a part of a bundle, whose bytes it keeps.
  IncomingBody(BundleBodyPtr bundle, std::uint32_t part)
      : size_(bundle->bytes(part)), bundle_(std::move(bundle)), part_(part) {}

  // Bytes that are its own.
  std::size_t size() const { return size_; }
  // What it keeps.
  PartMemory memory() const;
  // Its views hold its bytes. INVALID_ARGUMENT when it cannot be read.
  Result<RequestBody> read(const Owner& owner, const WireLimits& limits) const;
  // For another process. Never null.
  Result<std::shared_ptr<const WireBuffer>> message(const Owner& owner, const WireLimits& limits) const;

 private:
  std::shared_ptr<const WireBuffer> shared(const Owner& owner) const { return {owner, &encoded_}; }

  std::size_t size_ = 0;
  WireBuffer encoded_;                          // empty if it is decoded
  std::unique_ptr<const RequestBody> decoded_;  // null: not yet
  BundleBodyPtr bundle_;                        // null: it came alone
  std::uint32_t part_ = 0;
};

}  // namespace volvox
