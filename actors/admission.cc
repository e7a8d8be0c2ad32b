#include "actors/admission.h"

#include <algorithm>
#include <utility>

namespace volvox {

namespace {

WirePriority wire_priority(PriorityChoice choice) {
  switch (choice) {
    case PriorityChoice::kHigh:
      return WirePriority::kHigh;
    case PriorityChoice::kLow:
      return WirePriority::kLow;
    case PriorityChoice::kNormal:
      break;
  }
  return WirePriority::kNormal;
}

}  // namespace

Admission::Admission(const ServeConfig& config)
    : models_(config.model),
      max_body_bytes_(config.wire.max_body_bytes),
      retry_after_us_(std::uint64_t{config.limits.retry_after_ms} * 1000),
      gauge_(std::make_shared<InFlightGauge>(
          InFlightLimits{config.limits.max_requests_in_flight,
                         std::size_t{config.limits.max_request_mib_in_flight} << 20})) {}

void Admission::apply_rules(RequestHeader& header) const {
  const auto model = std::find_if(models_.begin(), models_.end(),
                                  [&](const ModelSection& section) { return section.name == header.model; });
  if (model == models_.end()) return;
  const std::uint64_t longest = std::uint64_t{model->max_deadline_ms} * 1000;
  std::uint64_t& deadline = header.deadline_us;
  if (deadline == 0) deadline = std::uint64_t{model->default_deadline_ms} * 1000;
  if (longest != 0) deadline = deadline == 0 ? longest : std::min(deadline, longest);
  if (header.priority == WirePriority::kNormal) header.priority = wire_priority(model->priority);
}

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
  apply_rules(request->header);
  request->body = WireBuffer::share_copy_of(body);
  request->arrival = steady_now();
  request->share = std::move(share);
  return request;
}

}  // namespace volvox
