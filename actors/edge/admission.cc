#include "actors/edge/admission.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "actors/edge/edge_settings.h"
#include "actors/sessions/session_token.h"
#include "actors/work/traces.h"
#include "base/clock.h"
#include "base/random_number.h"
#include "protocol/codec/bundle_codec.h"
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

constexpr const char* kShuttingDown = "the server is shutting down; ask another one";
constexpr const char* kTooManyInFlight = "too many requests are in flight; wait and try again";

// Bytes of its parts. Those of live calls have less, and are read by the manager in the time that it takes to
// wake another thread.
constexpr std::size_t kLargeBundle = 1 << 20;

TimePoint arrival_of(const Caller& caller) {
  return caller.since == TimePoint{} ? steady_now() : caller.since;
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

IncomingBody OfferedBody::keep() && {
  if (lent_.empty()) return std::move(kept_);
  if (!keep_) return IncomingBody(WireBuffer::copy_of(lent_));
  const auto kept = keep_();
  return IncomingBody(WireBuffer::part_of(kept, kept->bytes()));
}

Admission::Admission(const ServeConfig& config, const NodePtr& node,
                     std::shared_ptr<const Dispatcher> dispatcher, std::shared_ptr<const ActorSlot> reader)
    : Admission(config, *node->metrics, node, std::move(dispatcher), std::move(reader), node->traces) {}

Admission::Admission(const ServeConfig& config, RequestMetrics& metrics,
                     std::shared_ptr<TraceRecorder> traces)
    : Admission(config, metrics, nullptr, nullptr, nullptr, std::move(traces)) {}

Admission::Admission(const ServeConfig& config, RequestMetrics& metrics, NodePtr node,
                     std::shared_ptr<const Dispatcher> dispatcher, std::shared_ptr<const ActorSlot> reader,
                     std::shared_ptr<TraceRecorder> traces)
    : models_(config.model),
      rights_(config),
      limits_(wire_limits(config.wire)),
      max_body_bytes_(config.wire.max_body_bytes),
      least_retry_us_(std::uint64_t{config.limits.retry_after_ms} * 1000),
      metrics_(metrics),
      node_(std::move(node)),
      dispatcher_(std::move(dispatcher)),
      reader_(std::move(reader)),
      traces_(std::move(traces)),
      gauge_(std::make_shared<InFlightGauge>(InFlightLimits{
          config.limits.max_requests_in_flight, std::size_t{config.limits.max_request_mib_in_flight} << 20})),
      clients_(std::make_shared<ClientShares>(config)),
      number_key_{random_bits().value_or(0), random_bits().value_or(0)} {}

caf::actor Admission::runner_for(const IncomingRequest& request, const ActorSlot& runner) const {
  const bool large = request.body.size() > Dispatcher::kSmallBody;
  if (is_session_part(request.header)) return runner_of(request, large, runner);
  if (large && reader_ != nullptr) {
    if (caf::actor reader = reader_->get()) return reader;
  }
  return runner.get();
}

caf::actor Admission::runner_for(std::span<const RequestPtr> parts, const ActorSlot& runner) const {
  std::size_t bytes = 0;
  for (const RequestPtr& part : parts) bytes += part->body.size();
  return runner_of(*parts.front(), bytes > kLargeBundle, runner);
}

caf::actor Admission::runner_of(const IncomingRequest& part, bool large, const ActorSlot& runner) const {
  caf::actor reader = reader_ ? reader_->get() : caf::actor();
  if (reader) part.detour = detours_->take(part.connection, large);
  return part.detour ? reader : runner.get();
}

void Admission::apply_rights(const Caller& caller, RequestHeader& header) const {
  if (caller.vouched) return;
  const WirePriority allowed = wire_priority(rights_.allowed(caller.account, choice_of(header.priority)));
  if (allowed != header.priority) metrics_.priority_cut();
  header.priority = allowed;
}

bool Admission::may_wait(const Caller& caller, const RequestHeader& header) const {
  const PriorityChoice priority = rights_.allowed(caller.account, choice_of(header.priority));
  const RequestTerms terms = terms_of(models_, header.model, {header.deadline_us, priority});
  return terms.deadline_us == 0 && terms.priority != PriorityChoice::kHigh;
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
    return refused({ErrorCode::kUnavailable, kShuttingDown});
  if (Status open = check_door(body.size()); !open) return refused(std::move(open).error());
  auto shares = enter(caller, {1, body.size()});
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
  request->connection = connection_of(caller);
  request->client_number = client_of(caller, request->connection);
  if (model) {
    if (auto expected = expect(*model, *request); !expected)
      return tl::unexpected(std::move(expected).error());
  }
  request->key = next_key_++;
  request->door = caller.door;
  request->client = std::move(caller.connection);
  request->account = std::move(caller.account);
  request->body = std::move(body).keep();
  request->arrival = arrival_of(caller);
  request->model = std::move(model);
  if (request->door != Door::kHttp) request->writer = reader_;  // its own thread writes its answer down
  begin_trace(*request);
  return request;
}

void Admission::begin_trace(IncomingRequest& request) const {
  if (!traces_ || !traces_->wants_requests()) return;
  const RequestHeader& header = request.header;
  const std::uint32_t version = request.model ? request.model->model->version : header.model_version;
  request.trace = traces_->begin(trace_context(header), request.door, header.model, version, request.arrival);
  if (request.trace) request.trace->set_key(request.key);
}

// What the parts of one bundle have in common.
struct Admission::Bundle {
  Caller caller;
  RequestHeader header;  // as it came; of each part but for its id, length and token
  BundleBodyPtr body;
  Result<ModelPtr> model;  // null: this process runs none
  std::uint64_t connection = 0, client_number = 0, retry_us = 0;
  TimePoint arrival{};
};

tl::expected<AdmittedBundle, Refusal> Admission::admit_bundle(Caller caller, RequestHeader header,
                                                              OfferedBody offered) {
  if (Status open = check_door(offered.size()); !open) return refused(std::move(open).error());
  auto body = keep_bundle(caller, header, std::move(offered));
  if (!body) return tl::unexpected(std::move(body).error());
  const std::uint32_t parts = header.parts;
  header.kind = RequestKind::kInfer;
  header.parts = 0;
  apply_rights(caller, header);
  apply_rules(header);
  std::vector<ClientShare> own = ClientShares::enter_parts(clients_, caller, parts);
  Bundle bundle{std::move(caller), std::move(header), std::move(*body), ModelPtr()};
  if (node_) bundle.model = node_->catalog->find(bundle.header.model, bundle.header.model_version);
  bundle.connection = connection_of(bundle.caller);
  bundle.client_number = client_of(bundle.caller, bundle.connection);
  bundle.retry_us = retry_after_us();
  bundle.arrival = arrival_of(bundle.caller);
  own.resize(parts);
  AdmittedBundle admitted;
  admitted.parts.reserve(parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto request = admit_part(bundle, part, std::move(own[part]));
    if (request) {
      admitted.parts.push_back(std::move(*request));
    } else {
      admitted.refused.push_back({part, std::move(request).error()});
    }
  }
  return admitted;
}

tl::expected<std::shared_ptr<IncomingRequest>, Refusal> Admission::admit_part(const Bundle& bundle,
                                                                              std::uint32_t part,
                                                                              ClientShare own) {
  auto token = bundle.body->token(part);
  if (!token) return refused(std::move(token).error());
  auto request = std::make_shared<IncomingRequest>();
  request->header = bundle.header;
  request->header.request_id += part;
  request->header.cells_hint = bundle.body->steps(part);
  request->header.session = std::move(*token);
  if (draining_ && !(node_ && goes_on_with_a_session(request->header)))
    return refused({ErrorCode::kUnavailable, kShuttingDown});
  if (!own) {
    metrics_.refused(bundle.caller.account.empty() ? Bound::kClient : Bound::kKey);
    return refused(ClientShares::too_many(bundle.caller), bundle.retry_us);
  }
  request->client_share = std::move(own);
  request->share = InFlightGauge::enter(gauge_, InFlightAmount{1, 0});
  if (!request->share) {
    metrics_.refused(Bound::kInFlight);
    return refused({ErrorCode::kOverloaded, kTooManyInFlight}, bundle.retry_us);
  }
  if (!bundle.model) return refused(bundle.model.error());
  request->model = *bundle.model;
  request->connection = bundle.connection;
  request->client_number = bundle.client_number;
  if (request->model) {
    if (auto expected = expect(*request->model, *request); !expected)
      return tl::unexpected(std::move(expected).error());
  }
  request->key = next_key_++;
  request->door = bundle.caller.door;
  request->client = bundle.caller.connection;
  request->account = bundle.caller.account;
  request->body = IncomingBody(bundle.body, part);
  request->arrival = bundle.arrival;
  begin_trace(*request);
  return request;
}

// Its bytes are counted before they are kept.
tl::expected<BundleBodyPtr, Refusal> Admission::keep_bundle(const Caller& caller, const RequestHeader& header,
                                                            OfferedBody body) {
  auto shares = enter(caller, {0, body.size()});
  if (!shares) return tl::unexpected(std::move(shares).error());
  auto bundle = read_request_bundle(std::move(body).keep_bytes(), limits_);
  if (!bundle) return refused(std::move(bundle).error());
  if (bundle->parts() != header.parts) {
    return refused({ErrorCode::kInvalidArgument, "the bundle's header speaks of " +
                                                     std::to_string(header.parts) + " parts, its body of " +
                                                     std::to_string(bundle->parts())});
  }
  return std::make_shared<const BundleBody>(std::move(*bundle), std::move(shares->first),
                                            std::move(shares->second));
}

// Routing ids are no secret, and another process has the same ones.
std::uint64_t Admission::connection_of(const Caller& caller) const {
  return caller.connection.empty() ? caller.far_connection : number_of(caller.connection);
}

// Where every key is let in, clients choose their accounts: nobody may look for one that has another's turns.
std::uint64_t Admission::client_of(const Caller& caller, std::uint64_t connection) const {
  return caller.account.empty() ? connection : number_of(caller.account);
}

std::uint64_t Admission::number_of(std::string_view name) const {
  KeyedHash hash(number_key_);
  hash.add(std::as_bytes(std::span(name)));
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

tl::expected<Admission::Shares, Refusal> Admission::enter(const Caller& caller,
                                                          const InFlightAmount& amount) {
  InFlightShare share = InFlightGauge::enter(gauge_, amount);
  if (!share) {
    metrics_.refused(Bound::kInFlight);
    return refused({ErrorCode::kOverloaded, kTooManyInFlight}, retry_after_us());
  }
  if (caller.connection.empty()) return Shares(std::move(share), ClientShare());
  auto own = ClientShares::enter(clients_, caller, amount);
  if (!own) {
    metrics_.refused(caller.account.empty() ? Bound::kClient : Bound::kKey);
    return refused(std::move(own).error(), retry_after_us());
  }
  return Shares(std::move(share), std::move(*own));
}

tl::expected<void, Refusal> Admission::expect(const InstalledModel& model, const IncomingRequest& request) {
  const RequestHeader& header = request.header;
  const PriorityClass priority = priority_class(header.priority);
  ExpectedWork work{model.id, priority, std::min(header.cells_hint, model.model->max_length)};
  work.client = request.client_number;
  if (header.deadline_us != 0) {
    const Forecast forecast = node_->workload->forecast(work, time_given(header));
    if (Status on_time = in_time(forecast); !on_time) {
      metrics_.refused(Bound::kDeadline);
      return refused(std::move(on_time).error(), microseconds(forecast.retry_after));
    }
  }
  request.place.emplace(node_->workload, model.id, priority, header.session.has_value(), work.client);
  return {};
}

}  // namespace volvox
