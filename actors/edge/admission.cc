#include "actors/edge/admission.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "actors/system/random_number.h"
#include "base/clock.h"
#include "serving/request_terms.h"

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

PriorityChoice choice_of(WirePriority priority) {
  if (priority == WirePriority::kNormal) return PriorityChoice::kNormal;
  return priority == WirePriority::kHigh ? PriorityChoice::kHigh : PriorityChoice::kLow;
}

bool goes_on_with_a_session(const RequestHeader& header) {
  return header.session && header.session->operation != SessionOperation::kBegin;
}

}  // namespace

tl::unexpected<Refusal> refused(Error error, std::uint64_t retry_after_us) {
  Refusal refusal;
  refusal.error = std::move(error);
  refusal.retry_after_us = retry_after_us;
  return tl::unexpected<Refusal>(std::move(refusal));
}

Admission::Admission(const ServeConfig& config, const NodePtr& node,
                     std::shared_ptr<const Dispatcher> dispatcher)
    : Admission(config, *node->metrics, node, std::move(dispatcher)) {}

Admission::Admission(const ServeConfig& config, RequestMetrics& metrics)
    : Admission(config, metrics, nullptr, nullptr) {}

Admission::Admission(const ServeConfig& config, RequestMetrics& metrics, NodePtr node,
                     std::shared_ptr<const Dispatcher> dispatcher)
    : models_(config.model),
      rights_(config),
      max_body_bytes_(config.wire.max_body_bytes),
      least_retry_us_(std::uint64_t{config.limits.retry_after_ms} * 1000),
      metrics_(metrics),
      node_(std::move(node)),
      dispatcher_(std::move(dispatcher)),
      gauge_(std::make_shared<InFlightGauge>(InFlightLimits{
          config.limits.max_requests_in_flight, std::size_t{config.limits.max_request_mib_in_flight} << 20})),
      clients_(std::make_shared<ClientShares>(config)),
      connection_key_{random_bits().value_or(0), random_bits().value_or(0)} {}

void Admission::apply_rights(const Caller& caller, RequestHeader& header) const {
  if (caller.vouched) return;
  const WirePriority allowed = wire_priority(rights_.allowed(caller.account, choice_of(header.priority)));
  if (allowed != header.priority) metrics_.priority_cut();
  header.priority = allowed;
}

void Admission::apply_rules(RequestHeader& header) const {
  const RequestTerms terms =
      terms_of(models_, header.model, {header.deadline_us, choice_of(header.priority)});
  header.deadline_us = terms.deadline_us;
  header.priority = wire_priority(terms.priority);
}

tl::expected<std::shared_ptr<IncomingRequest>, Refusal> Admission::admit(Caller caller, RequestHeader header,
                                                                         OfferedBody body, ModelPtr model) {
  // Who goes on with a session of a node that drains is to learn what becomes of it.
  if (draining_ && !(node_ && goes_on_with_a_session(header)))
    return refused({ErrorCode::kUnavailable, "the server is shutting down; ask another one"});
  if (Status open = check_door(body.size()); !open) return refused(std::move(open).error());
  auto shares = enter(caller, body.size());
  if (!shares) return tl::unexpected(std::move(shares).error());
  if (!model && node_) {
    auto found = node_->catalog->find(header.model, header.model_version);
    if (!found) return refused(std::move(found).error());
    model = std::move(*found);
  }
  apply_rights(caller, header);
  apply_rules(header);
  auto request = std::make_shared<IncomingRequest>();
  std::tie(request->share, request->client_share) = std::move(*shares);
  request->header = std::move(header);
  if (model) {
    if (auto expected = expect(*model, *request); !expected)
      return tl::unexpected(std::move(expected).error());
  }
  request->key = next_key_++;
  request->connection = number_of(caller);
  request->client = std::move(caller.connection);
  request->account = std::move(caller.account);
  request->body = std::move(body).keep();
  request->arrival = steady_now();
  request->model = std::move(model);
  return request;
}

// Routing ids are no secret, and another process has the same ones.
std::uint64_t Admission::number_of(const Caller& caller) const {
  if (caller.connection.empty()) return caller.far_connection;
  KeyedHash hash(connection_key_);
  hash.add(std::as_bytes(std::span(caller.connection)));
  return std::max<std::uint64_t>(hash.digest().lo, 1);
}

std::uint64_t Admission::retry_after_us() const {
  return node_ ? volvox::retry_after_us(*node_) : least_retry_us_;
}

Status Admission::check_door(std::size_t body_bytes) const {
  if (node_ && !node_->answers()) {
    return fail(ErrorCode::kUnavailable, "the device does not answer; ask another server");
  }
  if (body_bytes > max_body_bytes_) return invalid("the body is larger than wire.max_body_bytes allows");
  return {};
}

tl::expected<Admission::Shares, Refusal> Admission::enter(const Caller& caller, std::size_t bytes) {
  InFlightShare share = InFlightGauge::enter(gauge_, bytes);
  if (!share) {
    metrics_.refused(Bound::kInFlight);
    return refused({ErrorCode::kOverloaded, "too many requests are in flight; wait and try again"},
                   retry_after_us());
  }
  if (caller.connection.empty()) return Shares(std::move(share), ClientShare());
  auto own = ClientShares::enter(clients_, caller, bytes);
  if (!own) {
    metrics_.refused(caller.account.empty() ? Bound::kClient : Bound::kKey);
    return refused(std::move(own).error(), retry_after_us());
  }
  return Shares(std::move(share), std::move(*own));
}

tl::expected<void, Refusal> Admission::expect(const InstalledModel& model, const IncomingRequest& request) {
  const RequestHeader& header = request.header;
  const PriorityClass priority = priority_class(header.priority);
  const ExpectedWork work{model.id, priority, std::min(header.cells_hint, model.model->max_length)};
  if (header.deadline_us != 0) {
    const Forecast forecast = node_->workload->forecast(work, time_given(header));
    if (Status on_time = in_time(forecast); !on_time) {
      metrics_.refused(Bound::kDeadline);
      return refused(std::move(on_time).error(), microseconds(forecast.retry_after));
    }
  }
  request.place.emplace(node_->workload, model.id, priority, header.session.has_value());
  return {};
}

}  // namespace volvox
