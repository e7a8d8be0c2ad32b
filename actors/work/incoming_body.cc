#include "actors/work/incoming_body.h"

#include <utility>

#include "protocol/codec/codec.h"

namespace volvox {

PartMemory IncomingBody::memory() const {
  if (bundle_ == nullptr) return {size_, 0, 0};
  const std::size_t own = bundle_->packs() ? size_ : 0;  // else its rows lie there
  return {own, reinterpret_cast<std::uintptr_t>(bundle_.get()), bundle_->size_bytes()};
}

Result<RequestBody> IncomingBody::read(const Owner& owner, const WireLimits& limits) const {
  if (decoded_) return *decoded_;
  if (bundle_) return bundle_->part(part_, limits);
  return read_request_body(shared(owner), limits);
}

Result<std::shared_ptr<const WireBuffer>> IncomingBody::message(const Owner& owner,
                                                                const WireLimits& limits) const {
  if (!decoded_ && !bundle_) return shared(owner);
  const auto body = read(owner, limits);
  if (!body) return tl::unexpected(body.error());
  auto encoded = encode_request_body(*body, limits);
  if (!encoded) return tl::unexpected(std::move(encoded).error());
  return std::make_shared<const WireBuffer>(std::move(*encoded));
}

}  // namespace volvox
