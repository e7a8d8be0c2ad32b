#include <algorithm>

#include "batching/core.h"

namespace volvox {

Scheduler::Core::Core(SchedulerConfig config, std::unique_ptr<Policy> policy)
    : config_(std::move(config)),
      policy_(std::move(policy)),
      queues_(static_cast<std::uint32_t>(config_.types.size()), config_.workers),
      running_(config_.types.size(), 0),
      form_(config_.types.size(), Form::kUnknown),
      policy_watches_(policy_->watches_waiting()),
      rooms_(config_.max_overtake) {
  for (const PoolConfig& pool : config_.pools) pools_.emplace_back(kReservedSlots, pool.slots);
  for (std::uint32_t w = 0; w < config_.workers; ++w) {
    workers_.push_back(
        {TaskLog(w, config_.max_tasks_to_submit + 2), std::vector<Cohort>(config_.types.size()), 0});
  }
  totals_.types.resize(config_.types.size());
  used_slots_.resize(pools_.size(), 0);
  pool_models_.resize(pools_.size(), kNoModel);
  for (const ModelConfig& model : config_.models) note_model(model);
  for (const TypeConfig& type : config_.types) {
    if (!has_model(type.model)) note_model({.id = type.model});
  }
}

AdmitResult Scheduler::Core::submit(Request request, TimePoint now) {
  now_ = now;
  if (!has_model(request.model)) return {AdmitResult::Kind::kNeverFits, {}, "its model is not known"};
  if (auto reason = check(request)) return {AdmitResult::Kind::kNeverFits, {}, std::move(*reason)};
  const ModelLoad& load = models_[request.model];
  if (load.max_waiting > 0 && load.waiting >= load.max_waiting) {
    return {AdmitResult::Kind::kFull, {}, "max_waiting requests of this model wait already; try again later"};
  }
  if (live_ >= config_.max_live) {
    return {AdmitResult::Kind::kFull, {}, "the scheduler holds max_live requests; try again later"};
  }
  const std::uint32_t index = take_record(std::move(request));
  set_clocks(index);
  start_waiting(index);
  policy_->admit(*this, *this, kNoWorker);
  const LiveRequest& live = requests_[index];
  const bool waits = live.state == LiveRequest::State::kWaiting;
  return {waits ? AdmitResult::Kind::kWaiting : AdmitResult::Kind::kAdmitted, {index, live.generation}, {}};
}

std::optional<std::string> Scheduler::Core::check(const Request& request) const {
  if (request.graph != nullptr) return check_graph(request);
  if (request.plan == nullptr) return "the request has neither lanes nor a graph";
  return check_lanes(request);
}

static const CarriedLane* carried_lane(const Request& request, std::size_t lane) {
  for (const CarriedLane& carried : request.carried) {
    if (carried.lane == lane) return &carried;
  }
  return nullptr;
}

std::optional<std::string> Scheduler::Core::check_lanes(const Request& request) const {
  const auto& lanes = request.plan->lanes;
  std::array<std::uint64_t, 8> small{};
  std::vector<std::uint64_t> large(pools_.size() > small.size() ? pools_.size() : 0, 0);
  std::uint64_t* slots = large.empty() ? small.data() : large.data();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const LaneSpec& spec = lanes[i];
    const std::uint32_t length = request.lengths[spec.length_of];
    if (length == 0) return "lane " + std::to_string(i) + " has no steps";
    if (form_[spec.type] == Form::kNodes) return "its cell type also serves node graphs";
    if (spec.has_state && carried_lane(request, i) == nullptr) {
      slots[spec.pool] += spec.ring == 0 ? length : spec.ring;
    }
    for (const LaneEdge& edge : spec.edges) {
      const std::int64_t n = request.lengths[lanes[edge.from].length_of];
      const std::int64_t first = edge.offset + (edge.from_end ? n - 1 : 0);
      const std::int64_t last = first + std::int64_t{edge.stride} * (length - 1);
      if (!edge.all && std::max(first, last) >= n) {
        return "lane " + std::to_string(i) + " reads past the end of lane " + std::to_string(edge.from);
      }
    }
  }
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    if (slots[p] > pools_[p].capacity()) {
      return "it needs " + std::to_string(slots[p]) + " state slots of one pool, which has " +
             std::to_string(pools_[p].capacity());
    }
  }
  return check_carried(request);
}

std::optional<std::string> Scheduler::Core::check_carried(const Request& request) const {
  for (const CarriedLane& carried : request.carried) {
    const std::string name = "carried lane " + std::to_string(carried.lane);
    if (carried.lane >= request.plan->lanes.size()) return name + " does not exist";
    const LaneSpec& spec = request.plan->lanes[carried.lane];
    if (!spec.has_state || spec.ring == 0) return name + " keeps no last state";
    const std::uint32_t own = config_.pools[spec.pool].slots;
    const bool initial = carried.initial == kInitialSlot;
    if (carried.base < own || (!initial && carried.initial < own)) return name + " is in rows of requests";
    if (!initial && carried.initial - carried.base < spec.ring) return name + " writes what it reads";
  }
  return std::nullopt;
}

std::optional<std::string> Scheduler::Core::check_graph(const Request& request) const {
  const NodeGraph& graph = *request.graph;
  if (graph.size() == 0) return "the graph has no nodes";
  for (CellTypeId type : graph.types()) {
    if (type >= form_.size()) return "it has an unknown cell type";
    if (form_[type] == Form::kLanes) return "its cell type also serves lanes";
  }
  const std::uint32_t least = request.max_nodes > 0 ? request.max_nodes : graph.suffix_peak(0);
  if (request.max_nodes > 0 && request.max_nodes < graph.size()) return "the graph exceeds max_nodes";
  if (least > pools_[graph.pool].capacity()) {
    return "it needs " + std::to_string(least) + " state slots, its pool has " +
           std::to_string(pools_[graph.pool].capacity());
  }
  return std::nullopt;
}

std::uint32_t Scheduler::Core::take_record(Request&& request) {
  std::uint32_t index;
  if (unused_.empty()) {
    index = static_cast<std::uint32_t>(requests_.size());
    requests_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  LiveRequest& live = requests_[index];
  live.request = std::move(request);
  live.state = LiveRequest::State::kWaiting;
  live.outcome = LiveRequest::Outcome::kNone;
  live.is_graph = live.request.graph != nullptr;
  live.landed = live.request.inputs_landed;
  live.started = live.fixed = live.draining = false;
  live.home = kNoWorker;
  live.cohort_rows = live.pad_to = live.open = 0;
  live.last_seq = 0;
  live.first_submit = TimePoint{};
  ++models_[live.request.model].live;
  ++models_[live.request.model].waiting;
  ++live_;
  return index;
}

void Scheduler::Core::start_waiting(std::uint32_t index) {
  rooms_.push(index, requests_[index].request.model, requests_[index].request.priority);
  if (policy_watches_) policy_->on_waiting(describe(index));
}

void Scheduler::Core::stop_waiting(std::uint32_t index) {
  rooms_.remove(index);
  if (policy_watches_) policy_->on_left(describe(index));
}

void Scheduler::Core::admit_waiting() {
  if (rooms_.size() > 0) policy_->admit(*this, *this, kNoWorker);
}

// Each model has pools of its own, where they are made by the Installer; elsewhere they may be shared.
void Scheduler::Core::note_pool(PoolId pool, ModelId model) {
  if (pool_models_[pool] == model) return;
  if (pool_models_[pool] != kNoModel) pools_are_shared_ = true;
  pool_models_[pool] = model;
}

WaitingRequest Scheduler::Core::describe(std::uint32_t index) const {
  const LiveRequest& live = requests_[index];
  std::uint32_t length = 0;
  if (live.is_graph) {
    length = live.request.graph->size();
  } else {
    for (const LaneSpec& spec : live.request.plan->lanes) {
      length = std::max(length, live.request.lengths[spec.length_of]);
    }
  }
  return {{index, live.generation}, live.request.model, live.request.priority, length, live.request.arrival};
}

LiveRequest* Scheduler::Core::find(RequestId id) {
  if (id.index >= requests_.size()) return nullptr;
  LiveRequest& live = requests_[id.index];
  return live.generation == id.generation && live.state != LiveRequest::State::kFree ? &live : nullptr;
}

std::size_t Scheduler::Core::admit_in_order() {
  return rooms_.admit([this](std::uint32_t index) {
    if (!reserve(index)) return false;
    if (policy_watches_) policy_->on_left(describe(index));
    enter(index);
    return true;
  });
}

std::size_t Scheduler::Core::admit_group(const std::vector<RequestId>& ids, WorkerId worker,
                                         std::uint32_t pad_to) {
  std::size_t entered = 0;
  for (RequestId id : ids) {
    LiveRequest* live = find(id);
    if (live == nullptr || live->state != LiveRequest::State::kWaiting) continue;
    live->pad_to = pad_to;
    if (!reserve(id.index)) break;
    stop_waiting(id.index);
    live->fixed = worker != kNoWorker;
    live->home = worker;
    enter(id.index);
    ++entered;
  }
  return entered;
}

bool Scheduler::Core::reserve(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  return live.is_graph ? reserve_graph(live) : reserve_lanes(live);
}

// Steps can be appended to the lanes without changing what the real ones read: nothing reads a lane's end.
static bool can_pad(const LanePlan& plan) {
  for (const LaneSpec& spec : plan.lanes) {
    if (spec.length_of != plan.lanes[0].length_of || spec.until_stopped) return false;
    for (const LaneEdge& edge : spec.edges) {
      if (edge.all || edge.from_end || edge.stride <= 0 || edge.offset > 0) return false;
      if (edge.before_first != LaneEdge::kNone) return false;
    }
  }
  return true;
}

static bool pushes_every_step(const LaneSpec& spec) {
  return std::any_of(spec.pushes.begin(), spec.pushes.end(),
                     [](const LanePush& push) { return push.output != LanePush::kNowhere && push.every; });
}

bool Scheduler::Core::reserve_lanes(LiveRequest& live) {
  const Request& request = live.request;
  const auto& specs = request.plan->lanes;
  // Padding would run over the state that a part leaves.
  const bool pad = live.pad_to > 0 && request.carried.empty() && can_pad(*request.plan);
  live.lanes.resize(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    LaneRun& run = live.lanes[i];
    run = LaneRun{};
    run.length = request.lengths[specs[i].length_of];
    run.reported = specs[i].until_stopped || (request.report_steps && pushes_every_step(specs[i]));
    run.run_length = pad ? std::max(run.length, live.pad_to) : run.length;
    if (specs[i].has_state) note_pool(specs[i].pool, request.model);
    if (reserve_slots(run, specs[i], carried_lane(request, i))) continue;
    while (i-- > 0) release_lane(live.lanes[i], specs[i]);
    return false;
  }
  return true;
}

bool Scheduler::Core::reserve_slots(LaneRun& run, const LaneSpec& spec, const CarriedLane* carried) {
  run.base = kSinkSlot;
  if (!spec.has_state) return true;
  run.ring = spec.ring == 0 ? run.run_length : spec.ring;
  if (carried != nullptr) {
    run.carried = true;
    run.base = carried->base;
    run.initial = carried->initial;
    return true;
  }
  const auto base = pools_[spec.pool].allocate(run.ring);
  if (base) run.base = *base;
  return base.has_value();
}

void Scheduler::Core::release_lane(const LaneRun& run, const LaneSpec& spec) {
  if (spec.has_state && !run.carried) pools_[spec.pool].release(run.base, run.ring);
}

bool Scheduler::Core::reserve_graph(LiveRequest& live) {
  const NodeGraph& graph = *live.request.graph;
  RangeAllocator& pool = pools_[graph.pool];
  note_pool(graph.pool, live.request.model);
  GraphRun& run = live.graph;
  run.growable = live.request.max_nodes > 0;
  const std::uint32_t least = run.growable ? live.request.max_nodes : graph.suffix_peak(0);
  run.reserved = run.growable ? least : std::max(least, std::min(graph.wanted_slots(), pool.capacity()));
  return pool.promise(run.reserved);
}

void Scheduler::Core::enter(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  live.state = LiveRequest::State::kRunning;
  if (live.is_graph) {
    enter_graph(index);
    return;
  }
  live.open = static_cast<std::uint32_t>(live.lanes.size());
  for (LaneId l = 0; l < lane_count(live); ++l) {
    const LaneSpec& spec = live.request.plan->lanes[l];
    form_[spec.type] = Form::kLanes;
    if (spec.has_state && !live.lanes[l].carried) used_slots_[spec.pool] += live.lanes[l].ring;
    if (live.landed) activate(lane_ref(index, l));
  }
}

void Scheduler::Core::inputs_landed(RequestId id, TimePoint now) {
  now_ = now;
  LiveRequest* live = find(id);
  if (live == nullptr || live->landed) return;
  live->landed = true;
  if (live->state != LiveRequest::State::kRunning || live->outcome != LiveRequest::Outcome::kNone) return;
  if (live->is_graph) {
    queue_groups(id.index);
  }
  for (LaneId l = 0; !live->is_graph && l < live->lanes.size(); ++l) activate(lane_ref(id.index, l));
}

void Scheduler::Core::release(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  if (live.state == LiveRequest::State::kRunning) {
    release_slots(live);
    pools_are_shared_ ? rooms_.reopen_all() : rooms_.reopen(live.request.model);
  }
  --models_[live.request.model].live;
  if (!live.started) --models_[live.request.model].waiting;
  live.state = LiveRequest::State::kFree;
  ++live.generation;
  live.request.graph.reset();
  unused_.push_back(index);
  --live_;
}

void Scheduler::Core::release_slots(LiveRequest& live) {
  if (live.is_graph) {
    RangeAllocator& pool = pools_[live.request.graph->pool];
    used_slots_[live.request.graph->pool] -= live.graph.live_slots;
    for (std::uint32_t slot : live.graph.taken) pool.give_back(slot);
    pool.release_promise(live.graph.reserved);
    if (live.graph.nodes.capacity() > kKeptNodes) {
      std::vector<NodeRun>().swap(live.graph.nodes);
      std::vector<std::uint32_t>().swap(live.graph.taken);
    }
    return;
  }
  for (std::size_t i = 0; i < live.lanes.size(); ++i) {
    const LaneSpec& spec = live.request.plan->lanes[i];
    if (!spec.has_state || live.lanes[i].carried) continue;
    release_lane(live.lanes[i], spec);
    used_slots_[spec.pool] -= live.lanes[i].ring;
  }
}

}  // namespace volvox
