#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/in_flight.h"
#include "actors/work.h"
#include "base/error.h"
#include "config/schema.h"
#include "protocol/limits.h"

namespace volvox {

// A request may come in by more than one door, and all doors share the same bounds. Each shows its requests
// here first, before any work is done for them: refused, or numbered, counted, its body copied, and its
// deadline and priority set as its model's table says. Any thread.
class Admission {
 public:
  explicit Admission(const ServeConfig& config);

  // UNAVAILABLE during a drain, INVALID_ARGUMENT for a body that is too large, OVERLOADED past a bound. The
  // share of the bounds is given back with the last reference to the request.
  Result<std::shared_ptr<IncomingRequest>> admit(ClientId client, RequestHeader header,
                                                 std::span<const std::byte> body);
  void refuse_new_requests() { draining_ = true; }
  bool draining() const { return draining_; }

  const InFlightGauge& gauge() const { return *gauge_; }
  // What a client that is refused OVERLOADED is told to wait.
  std::uint64_t retry_after_us() const { return retry_after_us_; }

 private:
  void apply_rules(RequestHeader& header) const;

  const std::vector<ModelSection> models_;
  const std::size_t max_body_bytes_;
  const std::uint64_t retry_after_us_;
  std::shared_ptr<InFlightGauge> gauge_;
  std::atomic<std::uint64_t> next_key_{1};
  std::atomic<bool> draining_{false};
};

}  // namespace volvox
