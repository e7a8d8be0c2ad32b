#include "actors/admission.h"

#include <utility>

namespace volvox {

Admission::Admission(const ServeConfig& config)
    : max_body_bytes_(config.wire.max_body_bytes),
      retry_after_us_(std::uint64_t{config.limits.retry_after_ms} * 1000),
      gauge_(std::make_shared<InFlightGauge>(
          InFlightLimits{config.limits.max_requests_in_flight,
                         std::size_t{config.limits.max_request_mib_in_flight} << 20})) {}

Result<std::shared_ptr<IncomingRequest>> Admission::admit(ClientId client, RequestHeader header,
                                                          std::span<const std::byte> body) {
  if (draining_) return fail(ErrorCode::kUnavailable, "the server is shutting down; ask another one");
  if (body.size() > max_body_bytes_) return invalid("the body is larger than wire.max_body_bytes allows");
  auto share = InFlightGauge::enter(gauge_, body.size());
  if (!share) return fail(ErrorCode::kOverloaded, "too many requests are in flight; wait and try again");
  auto request = std::make_shared<IncomingRequest>();
  request->key = next_key_++;
  request->client = std::move(client);
  request->header = std::move(header);
  request->body = WireBuffer::share_copy_of(body);
  request->arrival = steady_now();
  request->share = std::move(share);
  return request;
}

}  // namespace volvox
