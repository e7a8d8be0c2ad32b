#include "actors/sessions/session_driver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/sessions/part_output.h"
#include "actors/sessions/session_token.h"
#include "base/clock.h"
#include "base/mixing.h"
#include "base/random_number.h"
#include "serving/session_limits.h"

namespace volvox {
namespace {

std::atomic<std::uint64_t> incarnations{0};
// Parts have keys of their own, from the far end of those of requests: what becomes of one asker is nothing
// to a part that others wait for.
std::atomic<std::uint64_t> part_keys{std::uint64_t{1} << 63};

// Of one device to another, through the host: generous, so that sessions do not move to and fro.
constexpr Duration kCopyOfState = std::chrono::milliseconds(1);

constexpr const char* kHangs = "the session's device hangs; repeat the part later";

constexpr std::uint32_t kUnknownModel = ~std::uint32_t{0};

std::uint32_t session_places(const Node& node) {
  std::uint32_t places = 0;
  for (const NodeDevicePtr& device : node.devices) places += device->session_places->count();
  return places;
}

}  // namespace

std::unique_ptr<SessionDriver> SessionDriver::make(const NodePtr& node, const JobMaker& jobs,
                                                   PartRunner& runner, StateCopierPtr copier) {
  if (node->config.sessions.max_sessions == 0) return nullptr;
  SessionLimits limits = session_limits(node->config, session_places(*node));
  const auto seed = random_bits();
  const bool drawn = seed && node->content_key;
  const Status sound =
      drawn ? check(limits) : Status(fail(ErrorCode::kInternal, "there are no random numbers"));
  if (!sound) {
    spdlog::error("there are no sessions: {}", to_string(sound.error()));
    return nullptr;
  }
  limits.hash_seed = *seed;
  auto driver = std::make_unique<SessionDriver>(node, jobs, runner, std::move(copier), limits);
  driver->publish();  // zeros are figures, too
  return driver;
}

SessionDriver::SessionDriver(const NodePtr& node, const JobMaker& jobs, PartRunner& runner,
                             StateCopierPtr copier, const SessionLimits& limits)
    : node_(node),
      jobs_(jobs),
      runner_(runner),
      incarnation_(++incarnations),
      numerics_(stable_hash(node->devices.front()->device->name())),  // the same bits on devices of one kind
      reader_(node),
      table_(limits),
      states_(node->devices, limits.max_resident, std::uint64_t{node->config.sessions.spill_mib} << 20),
      copies_(node->devices.size(), std::chrono::milliseconds(node->config.device.task_timeout_ms)),
      copier_(std::move(copier)) {
  // A driver before this one may have said so; this one finds out with its own first copy.
  for (const NodeDevicePtr& device : node->devices) {
    device->health->set_copies_hang(false);
    usable_.push_back(device->number);
  }
  wanted_ = usable_;
}

void SessionDriver::submit(const WorkPtr& work, TimePoint now) {
  // It passed the door before anybody knew; it might wait for slots that nobody can free.
  if (!node_->answers()) return work->settle(Error{ErrorCode::kUnavailable, kHangs});
  const auto request = describe(*work, now);
  work->read.reset();
  if (!request) {
    work->settle(request.error());
    return perform(now);
  }
  const bool begins = request->verb == SessionVerb::kBegin;
  Waiting& waiting = waiting_[request->request];
  waiting.answer = work->pass_on_answer();
  waiting.part = work;
  waiting.model = begins ? request->served : request->model;
  waiting.ticket = table_.submit(*request, now, actions_);
  perform(now);
}

Result<SessionRequest> SessionDriver::describe(Work& work, TimePoint now) {
  const RequestHeader& header = work.request().header;
  const WireSessionToken& token = *header.session;
  SessionRequest request;
  request.request = work.request().key;
  request.verb = session_verb(token.operation);
  // Where there are keys the account is the client, over whatever connection.
  const bool known = !work.request().account.empty();
  request.client = {work.request().account, known ? 0 : work.request().connection};
  request.sequence = token.sequence;
  request.memory = work.request().body.memory();
  const bool begins = request.verb == SessionVerb::kBegin;
  const auto model = find_model(work.request(), begins ? header.model_version : token.model_version);
  if (!model && begins) return tl::unexpected(model.error());
  if (model) request.served = note(**model, now);
  request.loaded = model.has_value();
  if (const Status ok = read(model ? *model : ModelPtr{}, work, request); !ok) {
    return tl::unexpected(ok.error());
  }
  if (!begins) {
    request.id = session_id(token);
    request.epoch = token.epoch;
    const std::uint32_t number = model ? request.served.model : number_of(header.model);
    request.model = {number, token.model_version, token.model_digest, token.numerics_id};
    return request;
  }
  const auto id = random_session_id();
  if (!id) return tl::unexpected(id.error());
  request.id = *id;
  request.nonce = {token.nonce, token.nonce_hi};
  request.state_bytes = model ? carried_bytes(**model) : 0;
  return request;
}

// The door has found it before, unless the session's version is another, or has been installed anew.
Result<ModelPtr> SessionDriver::find_model(const IncomingRequest& request, std::uint32_t version) const {
  const ModelPtr& known = request.model;
  if (known && known->serial == last_seen_.serial && (version == 0 || version == known->model->version))
    return known;
  return node_->catalog->find(request.header.model, version);
}

// States of an earlier installation lie in rows that this one does not know.
ModelIdentity SessionDriver::note(const InstalledModel& model, TimePoint now) {
  if (last_seen_.serial == model.serial) return last_seen_.identity;
  Seen& seen = seen_[{model.model->name, model.model->version}];
  if (seen.serial != model.serial) {
    if (seen.serial != 0) table_.release_model(seen.identity, SessionEnd::kLost, now, actions_);
    seen = {identity_of(model), model.serial};
  }
  last_seen_ = seen;
  return seen.identity;
}

// A model that nobody can ask for any more goes when its last session has.
void SessionDriver::end_unloaded(TimePoint now) {
  last_seen_ = {};
  std::erase_if(seen_, [&](const auto& entry) {
    const auto& [name, seen] = entry;
    const auto model = node_->catalog->find(name.first, name.second);
    if (model && (*model)->serial == seen.serial) return false;
    table_.release_model(seen.identity, SessionEnd::kLost, now, actions_);
    return true;
  });
}

// Once, unless the model has changed since it was read on its way here.
Status SessionDriver::read(const ModelPtr& model, Work& work, SessionRequest& request) const {
  if (!work.read || work.read->model != model) work.read.emplace(reader_.read(model, work));
  request.empty = work.read->empty;
  request.content = work.read->content;
  return work.read->status;
}

ModelIdentity SessionDriver::identity_of(const InstalledModel& model) {
  return {number_of(model.model->name), model.model->version, model.model->digest, numerics_};
}

// A name keeps its number. Names that no model ever had get none: clients choose them.
std::uint32_t SessionDriver::number_of(const std::string& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  if (node_->catalog->versions(name).empty()) return kUnknownModel;
  return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

bool SessionDriver::cancel(std::uint64_t key, ErrorCode why, TimePoint now) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return false;
  const char* message = why == ErrorCode::kDeadlineExceeded ? kTooLate : "the request was cancelled";
  table_.cancel(found->second.ticket, {why, message}, now, actions_);
  perform(now);
  return true;
}

void SessionDriver::finished(const WorkPtr& part, Outcome&& outcome, TimePoint now) {
  SessionPart& ended = *part->part;
  ended.keeper = nullptr;
  ended.rows = {};
  if (ended.driver != incarnation_) return;
  running(ended.session) = 0;
  PartResult result;
  if (outcome.error) {
    result.status = tl::unexpected(std::move(*outcome.error));
  } else {
    auto output = keep_output(*part, outcome);
    result.bytes = output->bytes;
    result.output = std::move(output);
  }
  report(ended.session, std::move(result), now);
  perform(now);
}

// Of a part that has ended, or could not begin.
void SessionDriver::report(SessionRef session, PartResult result, TimePoint now) {
  table_.finished(session, std::move(result), now, actions_);
  const auto state = table_.state(session);
  if (state && *state != kInitialState) states_.keep_only(session, *state);
}

std::uint64_t& SessionDriver::running(SessionRef session) {
  if (session.index >= running_.size()) running_.resize(session.index + 1);
  return running_[session.index];
}

void SessionDriver::lost(SessionRef session, TimePoint now) {
  running(session) = 0;
  PartResult result;
  result.status =
      fail(ErrorCode::kInternal, "the device failed under this part of the session; see the server's log");
  report(session, std::move(result), now);
  perform(now);
}

void SessionDriver::hangs(SessionRef session, TimePoint now) {
  table_.refuse_all(session, {ErrorCode::kUnavailable, kHangs}, now, actions_);
  perform(now);
}

std::optional<TimePoint> SessionDriver::next_wakeup() const {
  const auto copies = copies_.next(), table = table_.next_wakeup();
  return copies && (!table || *copies < *table) ? copies : table;
}

void SessionDriver::tick(TimePoint now) {
  look_for_hanging_copies(now);
  end_unloaded(now);
  table_.tick(now, actions_);
  perform(now);
}

// Nobody knows whether a state that hangs on its way will arrive; its places are not free before it has. So
// the session is lost, and the device passed by.
void SessionDriver::look_for_hanging_copies(TimePoint now) {
  for (const NodeDevicePtr& device : node_->devices) {
    const bool before = copies_.hangs(device->number);
    const std::vector<SessionRef> lost = copies_.given_up(device->number, now);
    for (const SessionRef session : lost) table_.release(session, SessionEnd::kLost, now, actions_);
    perform(now);
    if (before || lost.empty()) continue;
    spdlog::error("{}: the copy of a session's state has taken {} ms; the session is lost", device->name,
                  node_->config.device.task_timeout_ms);
    device->health->set_copies_hang(true);
    if (!node_->answers()) refuse_all_that_wait(now);
  }
}

// Their parts wait for places, or run, on devices of which none takes work.
void SessionDriver::refuse_all_that_wait(TimePoint now) {
  std::vector<SessionTicket> tickets;
  for (const auto& [request, waiting] : waiting_) tickets.push_back(waiting.ticket);
  const Error error{ErrorCode::kUnavailable, kHangs};
  for (const SessionTicket ticket : tickets) table_.cancel(ticket, error, now, actions_);
  perform(now);
}

void SessionDriver::device_lost(std::uint32_t device, TimePoint now) {
  table_.release_resident([&](StateSlot slot) { return states_.device_of(slot) == device; },
                          SessionEnd::kLost, now, actions_);
  perform(now);
}

void SessionDriver::use_devices(std::span<const std::uint32_t> devices, TimePoint now) {
  usable_.assign(devices.begin(), devices.end());
  std::uint32_t places = 0;
  for (const std::uint32_t device : devices) places += node_->devices[device]->session_places->count();
  table_.allow_resident(std::max(1U, places), now, actions_);
  set_others_aside(now);
  perform(now);
}

// Room on a device that takes no parts is of use to nobody in line, and a copy off it may never end.
void SessionDriver::set_others_aside(TimePoint now) {
  const auto is_elsewhere = [this](StateSlot slot) {
    const auto device = states_.device_of(slot);
    return device && std::ranges::find(usable_, *device) == usable_.end();
  };
  table_.set_aside(is_elsewhere, now, actions_);
}

void SessionDriver::drain(TimePoint now) {
  table_.drain(now, actions_);
  perform(now);
}

void SessionDriver::perform(TimePoint now) {
  // What the table says to the reports of these comes after them.
  while (!actions_.empty()) {
    std::swap(actions_, doing_);
    for (const SessionAction& action : doing_) perform(action, now);
    doing_.clear();
  }
}

void SessionDriver::publish() {
  if (node_->session_metrics == nullptr) return;
  const SessionStats stats = table_.stats();
  const std::uint64_t host_bytes = states_.host_bytes();
  if (published_ == std::pair(stats, host_bytes)) return;
  published_ = {stats, host_bytes};
  SessionFigures figures;
  figures.live = stats.live;
  figures.ending = stats.ending;
  figures.remembered = stats.remembered;
  figures.resident = stats.resident;
  figures.spilled = stats.spilled;
  figures.copying = stats.copying;
  figures.in_line = stats.in_line;
  figures.running = stats.running;
  figures.waiting = stats.waiting;
  figures.parked = stats.parked;
  figures.parked_bytes = stats.parked_bytes;
  figures.parked_too_long = stats.parked_too_long;
  figures.kept_outputs = stats.kept_outputs;
  figures.kept_bytes = stats.kept_bytes;
  figures.host_bytes = host_bytes;
  figures.begun = stats.begun;
  figures.committed = stats.committed;
  figures.failed = stats.failed;
  figures.repeated = stats.repeated;
  figures.refused = stats.refused;
  figures.conflicts = stats.conflicts;
  figures.over_share = stats.over_share;
  figures.gave_way = stats.gave_way;
  figures.clients = stats.clients;
  figures.most_sessions = stats.most_sessions;
  figures.most_kept_bytes = stats.most_kept_bytes;
  figures.most_host_bytes = stats.most_spilled_bytes;
  figures.spills = stats.spills;
  figures.failed_spills = stats.failed_spills;
  figures.restores = stats.restores;
  figures.moves = states_.moves();
  for (std::size_t reason = 0; reason < kSessionEnds; ++reason) {
    figures.releases[reason] = {to_string(SessionEnd(reason)), stats.releases[reason]};
  }
  node_->session_metrics->publish(figures);
}

void SessionDriver::perform(const SessionAction& action, TimePoint now) {
  using Kind = SessionAction::Kind;
  switch (action.kind) {
    case Kind::kRun:
      return run(action, now);
    case Kind::kStop:
      return stop(action);
    case Kind::kAnswer:
      return answer(action);
    case Kind::kRefuse:
      return refuse(action);
    case Kind::kSpill:
      if (auto state = states_.spill(action.session, action.read)) return copy(std::move(state), now);
      return table_.spilled(action.session, false, now, actions_);
    case Kind::kRestore:
      if (auto state = states_.restore(action.session, action.write, devices()))
        return copy(std::move(state), now);
      return table_.not_restored(action.session, now, actions_);
    case Kind::kFree:
      return states_.free(action.session, action.write);
    case Kind::kForget:
      return states_.forget(action.session);
  }
}

void SessionDriver::copy(StateCopyPtr state, TimePoint now) {
  state->driver = incarnation_;
  copies_.begun(copying_device(*state), state->session, now);
  copier_->start(state, runner_.on_copied());
}

void SessionDriver::copied(StateCopy& copy, TimePoint now) {
  if (copy.driver != incarnation_) return;
  const NodeDevice& device = *node_->devices[copying_device(copy)];
  if (copies_.ended(device.number, now)) {
    spdlog::info("{}: states of sessions are copied again", device.name);
    device.health->set_copies_hang(false);
  }
  states_.ended(copy);
  switch (copy.kind) {
    case StateCopy::Kind::kSpill:
      table_.spilled(copy.session, copy.made, now, actions_);
      break;
    case StateCopy::Kind::kRestore:
      table_.restored(copy.session, copy.made, now, actions_);
      break;
    case StateCopy::Kind::kMove:
      if (usable_.size() < node_->devices.size()) set_others_aside(now);
      moved(copy.session, now);
      break;
  }
  perform(now);
}

// Or could not be moved: then the part runs where the state is.
void SessionDriver::moved(SessionRef session, TimePoint now) {
  const auto found = moving_.extract(session.index);
  const Moving& moving = found.mapped();
  PartResult result;
  result.status = moving.stopped ? fail(ErrorCode::kCancelled, "nobody waits for the part any more")
                                 : start(moving.action, moving.part);
  if (!result.status) report(session, std::move(result), now);
}

void SessionDriver::run(const SessionAction& action, TimePoint now) {
  WorkPtr part = std::move(waiting_.find(action.request)->second.part);
  if (action.read != kInitialState) {
    if (auto state = move_home(action.session, action.read)) {
      moving_[action.session.index] = {action, std::move(part), false};
      return copy(std::move(state), now);
    }
  }
  PartResult result;
  result.status = start(action, part);
  if (!result.status) report(action.session, std::move(result), now);
}

// The request may be answered before its part has ended, while another that repeats it waits. So the part
// has no deadline either: it is stopped when the last one has given it up.
Status SessionDriver::start(const SessionAction& action, const WorkPtr& part) {
  const std::uint32_t steps = part->checked->lengths[0];
  auto rows = states_.rows(action.session, part->checked->model, action.read, action.write, steps, devices());
  if (!rows) return tl::unexpected(rows.error());
  const std::uint32_t device = *states_.device_of(action.write);
  if (!runner_.ready(device))
    return fail(ErrorCode::kUnavailable, "the session's device takes no work for now; repeat the part");
  jobs_.place(*part, device);
  if (Status made = jobs_.make(*part); !made) {
    // Others that came with it look for room while it is still held.
    part->give_back_memory();
    part->device_place.reset();
    return made;
  }
  if (const auto& trace = part->request().trace) trace->reach(SpanStage::kHandedOn, steady_now());
  Request& job = part->unfolded->request;
  job.tag = part_keys++;
  job.deadline = TimePoint::max();
  carry(part->checked->model->sessions, rows->from, *rows->lent.into, *rows->lent.place, job);
  part->part.emplace(action.session, std::move(rows->lent));
  part->part->driver = incarnation_;
  if (auto& place = part->request().place) static_cast<void>(place->correct(steps, Duration::max()));
  running(action.session) = job.tag;
  runner_.start(part);
  return {};
}

// Those that parts can run on first, and of these the one with the least to do.
std::span<const std::uint32_t> SessionDriver::devices() {
  if (node_->devices.size() == 1) return wanted_;
  wanted_ = node_->loads->in_order([](std::uint32_t) { return true; });
  std::stable_partition(wanted_.begin(), wanted_.end(),
                        [this](auto device) { return runner_.ready(device); });
  return wanted_;
}

// A session stays where its state is, unless that device hangs, or has so much more to do that the copy is
// worth it. Null: it stays.
StateCopyPtr SessionDriver::move_home(SessionRef session, StateSlot state) {
  if (node_->devices.size() == 1) return nullptr;
  const std::uint32_t home = *states_.device_of(state), other = devices().front();
  if (other == home || !runner_.ready(other)) return nullptr;
  if (node_->devices[home]->health->copies_hang()) return nullptr;
  const bool leaves = !runner_.ready(home) || node_->loads->worth_moving(home, other, kCopyOfState);
  return leaves ? states_.move(session, state, other) : nullptr;
}

void SessionDriver::stop(const SessionAction& action) {
  if (const std::uint64_t part = running(action.session); part != 0) return runner_.stop(part);
  const auto moving = moving_.find(action.session.index);
  if (moving != moving_.end()) moving->second.stopped = true;
}

WireSessionToken SessionDriver::token(const SessionAction& action, const Waiting& waiting) const {
  WireSessionToken token;
  token.id_hi = action.id.hi;
  token.id_lo = action.id.lo;
  token.model_version = waiting.model.version;
  token.model_digest = waiting.model.digest;
  token.numerics_id = waiting.model.numerics;
  token.epoch = action.epoch;
  token.sequence = action.sequence;
  token.operation = waiting.answer.request()->header.session->operation;
  token.home = node_->config.server.name;
  return token;
}

void SessionDriver::answer(const SessionAction& action) {
  const auto found = waiting_.find(action.request);
  Outcome outcome;
  outcome.session = token(action, found->second);
  if (action.output) {
    const auto output = std::static_pointer_cast<const PartOutput>(action.output);
    outcome.outputs = output->tensors;
    outcome.cells = output->cells;
    outcome.queue_us = output->queue_us;
    outcome.compute_us = output->compute_us;
    outcome.owner = output;
  }
  take(found).keep(std::move(outcome));
}

void SessionDriver::refuse(const SessionAction& action) {
  const std::uint64_t again = action.error.code == ErrorCode::kOverloaded ? retry_after_us(*node_) : 0;
  take(waiting_.find(action.request)).keep(action.error, again);
}

AnswerPromise SessionDriver::take(RecycledMap<Waiting>::iterator waiting) {
  AnswerPromise answer = std::move(waiting->second.answer);
  if (auto& place = answer.request()->place) place->leave();  // its part may still run, in a task that hangs
  waiting_.erase(waiting);
  return answer;
}

}  // namespace volvox
