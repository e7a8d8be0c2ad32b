#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/edge/client_shares.h"
#include "actors/edge/in_flight.h"
#include "base/error.h"
#include "protocol/bundle.h"
#include "protocol/limits.h"
#include "protocol/messages.h"

namespace volvox {

// The body of a bundle as its door took it. Its bytes stay until the last part has been forgotten, and so
// does their share of the bounds. Immutable; any thread.
class BundleBody {
 public:
  BundleBody(RequestBundle bundle, InFlightShare share, ClientShare client_share);

  std::size_t parts() const { return bundle_.parts(); }
  std::size_t size_bytes() const { return bundle_.storage->size(); }
  // Whether part() makes a copy of the part's rows.
  bool packs() const { return bundle_.inputs.size() > 1; }
  std::uint32_t steps(std::size_t part) const { return bundle_.lengths[part]; }
  Result<std::optional<WireSessionToken>> token(std::size_t part) const { return bundle_.tokens.asked(part); }
  // Of the part's own rows.
  std::size_t bytes(std::size_t part) const { return bundle_.lengths[part] * row_bytes_; }
  // The part as a body of its own; its inputs lie in its storage, which is the bundle's where they do there.
  // INVALID_ARGUMENT when it has more steps than a request may.
  Result<RequestBody> part(std::size_t part, const WireLimits& limits) const;

 private:
  const RequestBundle bundle_;
  const InFlightShare share_;
  const ClientShare client_share_;
  std::vector<std::uint64_t> first_rows_;  // by part
  std::size_t row_bytes_ = 0;              // of all inputs
};
using BundleBodyPtr = std::shared_ptr<const BundleBody>;

}  // namespace volvox
