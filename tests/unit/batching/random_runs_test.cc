// The scheduler's invariants under anything that may happen: graphs of all kinds, some of which grow, late
// completions, stops of any lane, cancels, failures, deadlines, ageing, tasks that hang, planes as small as
// they may be; beside them streams in parts, each of which goes on from the state that the last good one
// left. Each seed is a run of its own; a failure prints its seed.

#include <optional>
#include <random>

#include "install/session_rows.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

// A session as its driver keeps it. Its state's rows are its own.
struct Stream {
  const LanePlan* plan = nullptr;
  SessionRows rows;
  std::optional<CarriedState> state;
  StartStates values;         // what the state must be
  Request part;               // the one that runs
  CarriedState next;          // where it leaves its state
  std::uint64_t running = 0;  // its tag
};

// What happened in all runs together: a test that no longer reaches something must say so.
struct Happened {
  std::uint64_t first_lane_stopped = 0, later_lane_stopped = 0, stopped_too_late = 0;
  std::uint64_t grew_unstarted = 0, grew_running = 0, grew_after_a_node = 0, grown_whole = 0;
  std::uint64_t part_went_on = 0, part_failed = 0;
  std::uint64_t done = 0, failed = 0, cancelled = 0, expired = 0, stuck = 0;
  std::uint64_t waited = 0, clients_waited = 0;
};

void expect_everything_happened(const Happened& sum, std::uint64_t runs) {
  const std::uint64_t often = runs / 100;
  EXPECT_GT(sum.first_lane_stopped, often);
  EXPECT_GT(sum.later_lane_stopped, often);
  EXPECT_GT(sum.stopped_too_late, 0U);
  EXPECT_GT(sum.grew_unstarted, often);
  EXPECT_GT(sum.grew_running, often);
  EXPECT_GT(sum.grew_after_a_node, often);
  EXPECT_GT(sum.grown_whole, often);
  EXPECT_GT(sum.part_went_on, often);
  EXPECT_GT(sum.part_failed, often);
  EXPECT_GT(sum.done, often);
  EXPECT_GT(sum.failed, often);
  EXPECT_GT(sum.cancelled, often);
  EXPECT_GT(sum.expired, often);
  EXPECT_GT(sum.stuck, often);
  EXPECT_GT(sum.waited, often);
  EXPECT_GT(sum.clients_waited, often);
}

enum class Batching : std::uint8_t { kCellular, kPadded, kDepth, kAgenda };

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, Batching way, Happened& happened) : random_(seed), happened_(happened) {
    const std::uint32_t max_batch = 1 + below(9);
    workers_ = 1 + below(3);
    several_models_ = below(2) == 0;
    const std::uint32_t count = 3 + below(25);
    for (std::uint64_t tag = 1; tag <= count; ++tag) pending_.push_back(make(tag));
    next_tag_ = count;
    make_streams();
    SchedulerConfig config = scheduler_config(max_batch, workers_, 1 + below(5), plane_slots());
    if (several_models_) part_into_models(config);
    config.queued_batches = below(3);
    if (below(3) == 0) config.age = Duration{1000 * (1 + below(60))};
    if (below(3) == 0) {
      for (TypeConfig& type : config.types) type.sizes = sizes_up_to(max_batch);
    }
    for (WorkerId w = 0; way == Batching::kCellular && below(2) == 0 && w < workers_; ++w) {
      config.worker_batches.push_back(below(max_batch + 2));
    }
    const std::uint32_t rows = place_streams(config.pools[kStates].slots);
    driver_ = std::make_unique<Driver>(config, make_policy(way, config, max_batch), max_batch, rows);
    idle_check_ = way == Batching::kCellular;
  }

  void run() {
    while (!pending_.empty() || below(40) != 0) act();
    while (!not_landed_.empty()) land_one();
    driver_->run_to_the_end();
    driver_->check();
    check_everything_is_free();
    count_ends();
  }

 private:
  std::unique_ptr<Policy> make_policy(Batching way, const SchedulerConfig& config, std::uint32_t max_batch) {
    switch (way) {
      case Batching::kCellular:
        return make_cellular_policy(config);
      case Batching::kPadded:
        return make_padded_policy(config, {1 + below(10), max_batch});
      case Batching::kDepth:
        return make_depth_policy(config, 1 + below(10));
      case Batching::kAgenda:
        return make_agenda_policy(config, 1 + below(10));
    }
    return nullptr;
  }

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  Request make(std::uint64_t tag) {
    Request request = random_request(random_, tag);
    request.priority = PriorityClass(below(kPriorityClasses));
    request.client = below(4);
    request.inputs_landed = below(5) != 0;
    if (below(4) == 0) request.deadline = TimePoint{Duration{1000 * (1 + below(200))}};
    if (several_models_) request.model = model_of(request);
    if (request.graph != nullptr && request.graph->size() > 1 && below(3) == 0) let_grow(request);
    return request;
  }

  // The graph comes in pieces: at first there is only the beginning of it.
  void let_grow(Request& request) {
    const std::uint32_t size = request.graph->size();
    growing_.emplace(request.tag, *request.graph);
    request.max_nodes = size + below(3);
    request.graph = std::make_shared<const NodeGraph>(first_nodes(*request.graph, 1 + below(size - 1)));
  }

  // Chains, other lanes and graphs may each be a model of its own; all but graphs share their memory.
  static ModelId model_of(const Request& request) {
    if (request.graph != nullptr) return 1;
    return request.plan->lanes.front().type == kChain ? 0 : 2;
  }

  static void part_into_models(SchedulerConfig& config) {
    config.models = {{.id = 0}, {.id = 1}, {.id = 2}};
    for (TypeConfig& type : config.types) type.model = type.id == kChain ? 0 : type.id >= kLeaf ? 1 : 2;
  }

  void make_streams() {
    const LanePlan* plans[] = {&chain_plan(), &eager_plan(), &stack_plan()};
    for (std::uint32_t left = below(5); left > 0; --left) {
      Stream& stream = streams_.emplace_back();
      stream.plan = plans[below(3)];
      stream.rows.possible = true;
      stream.rows.places = 1;
      const auto carried = carried_lanes(*stream.plan);
      for (const LaneId lane : carried.value()) {
        stream.rows.lanes.push_back({lane, kStates, 0, stream.plan->lanes[lane].ring});
      }
    }
  }

  // Behind the first `row` rows of the pool. Returns how many more it needs.
  std::uint32_t place_streams(std::uint32_t row) {
    const std::uint32_t first = row;
    for (Stream& stream : streams_) {
      for (SessionRows::Lane& lane : stream.rows.lanes) {
        lane.first = row;
        row += rows_per_place(lane.ring);
      }
    }
    return row - first;
  }

  // What a stream's part left counts if it is done; otherwise the state is as it was.
  void look_at_streams() {
    for (Stream& stream : streams_) {
      const auto over = driver_->over().find(stream.running);
      if (stream.running == 0 || over == driver_->over().end()) continue;
      stream.running = 0;
      if (over->second != Event::Kind::kDone) {
        ++happened_.part_failed;
        continue;
      }
      stream.values = expected_states(stream.part, stream.values);
      stream.state = stream.next;
    }
  }

  void start_part() {
    look_at_streams();
    if (streams_.empty()) return;
    Stream& stream = streams_[below(static_cast<std::uint32_t>(streams_.size()))];
    if (stream.running != 0 || next_tag_ > 200) return;
    const std::uint32_t steps = 1 + below(9);
    stream.running = ++next_tag_;
    happened_.part_went_on += stream.state ? 1 : 0;
    stream.part = lanes_request(stream.running, *stream.plan, steps);
    stream.next = {stream.state ? 1 - stream.state->slot : below(2), steps};
    carry(stream.rows, stream.state, stream.next.slot, 0, stream.part);
    if (several_models_) stream.part.model = model_of(stream.part);
    driver_->set_start(stream.running, stream.values);
    const AdmitResult result = driver_->admit(stream.part);
    ASSERT_TRUE(result.kind == AdmitResult::Kind::kAdmitted || result.kind == AdmitResult::Kind::kWaiting)
        << result.reason;
    live_.push_back(stream.running);
  }

  // Exactly the largest reservation, or a few times as much.
  std::vector<std::uint32_t> plane_slots() {
    std::vector<std::uint32_t> slots(kPoolCount, 1);
    for (const Request& request : pending_) {
      const auto least = least_slots(request);
      for (std::size_t p = 0; p < slots.size(); ++p) slots[p] = std::max(slots[p], least[p]);
    }
    for (const Stream& stream : streams_) {
      if (stream.plan == &eager_plan()) slots[kWindow] = std::max(slots[kWindow], stream.plan->lanes[0].ring);
    }
    const std::uint32_t times = below(2) == 0 ? 1 : 1 + below(8);
    for (std::uint32_t& count : slots) count = count * times + kReservedSlots;
    return slots;
  }

  static std::vector<std::uint32_t> sizes_up_to(std::uint32_t max_batch) {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t size = 1; size < max_batch; size *= 2) sizes.push_back(size);
    sizes.push_back(max_batch);
    return sizes;
  }

  void act() {
    driver_->advance(Duration{1000});
    const WorkerId worker = below(workers_);
    switch (below(14)) {
      case 0:
      case 1:
        admit_one();
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        schedule(worker);
        break;
      case 6:
      case 7:
      case 8:
        if (driver_->in_flight(worker) > 0) {
          driver_->complete(worker, 1 + below(static_cast<std::uint32_t>(driver_->in_flight(worker))));
        }
        break;
      case 9:
        driver_->device().run_until(worker, below(100) < 50 ? driver_->device().submitted(worker) : 0);
        break;
      case 10:
        land_one();
        break;
      case 11:
      case 12:
        start_part();
        break;
      default:
        disturb(worker);
        break;
    }
    take_reports();
    if (below(3) == 0) grow_one();
  }

  void admit_one() {
    if (pending_.empty()) return;
    const bool landed = pending_.back().inputs_landed;
    const std::uint64_t tag = pending_.back().tag;
    const AdmitResult result = driver_->admit(std::move(pending_.back()));
    pending_.pop_back();
    ASSERT_TRUE(result.kind == AdmitResult::Kind::kAdmitted || result.kind == AdmitResult::Kind::kWaiting)
        << result.reason;
    happened_.waited += result.kind == AdmitResult::Kind::kWaiting ? 1 : 0;
    happened_.clients_waited += driver_->scheduler().stats().waiting_clients > 1 ? 1 : 0;
    live_.push_back(tag);
    if (!landed) not_landed_.push_back(result.id);
  }

  void land_one() {
    if (not_landed_.empty()) return;
    driver_->scheduler().inputs_landed(not_landed_.back(), driver_->now());
    not_landed_.pop_back();
  }

  void schedule(WorkerId worker) {
    driver_->schedule(worker);
    if (!idle_check_ || driver_->in_flight(worker) > 0) return;
    EXPECT_FALSE(driver_->scheduler().frontier().anything_ready(worker))
        << "work waits while its worker idles";
  }

  void disturb(WorkerId worker) {
    const std::uint32_t what = below(10);
    if (what < 4 && !live_.empty()) {
      const std::size_t victim = below(static_cast<std::uint32_t>(live_.size()));
      driver_->cancel(live_[victim]);
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(victim));
    } else if (what == 4 && driver_->in_flight(worker) > 0) {
      driver_->fail(worker, below(static_cast<std::uint32_t>(driver_->in_flight(worker)) + 1));
    } else if (what == 5) {
      driver_->suspend(worker);
    }
  }

  // A caller looks at what is reported, and stops a lane or adds nodes on account of it.
  void take_reports() {
    for (; reports_seen_ < driver_->steps().size(); ++reports_seen_) {
      const Event event = driver_->steps()[reports_seen_];
      if (event.kind == Event::Kind::kNodeDone) {
        if (grow(event.tag)) ++happened_.grew_after_a_node;
      } else if (below(6) == 0) {
        stop(event);
      }
    }
  }

  // With it, half of the time, the lane that it follows.
  void stop(const Event& event) {
    const LanePlan& plan = *driver_->requests().at(event.tag).plan;
    if (!plan.lanes[event.lane].until_stopped || is_followed(plan, event.lane)) return;
    if (driver_->stopped(event.tag, event.lane)) return;
    const Step last = event.step + below(2);
    driver_->stop(event.tag, event.lane, last);
    ++(event.lane == 0 ? happened_.first_lane_stopped : happened_.later_lane_stopped);
    if (event.lane > 0 && plan.lanes[0].until_stopped && below(2) == 0) driver_->stop(event.tag, 0, last);
  }

  void grow_one() {
    if (growing_.empty()) return;
    const auto from = growing_.lower_bound(below(30));
    const std::uint64_t tag = (from == growing_.end() ? growing_.begin() : from)->first;
    const auto request = driver_->requests().find(tag);
    if (request != driver_->requests().end() && !driver_->over().contains(tag)) grow(tag);
  }

  // False: it does not grow any more.
  bool grow(std::uint64_t tag) {
    const auto whole = growing_.find(tag);
    if (whole == growing_.end()) return false;
    const std::uint32_t size = driver_->requests().at(tag).graph->size();
    const std::uint32_t grown = size + 1 + below(whole->second.size() - size);
    if (!driver_->extend(tag, first_nodes(whole->second, grown))) return false;
    ++(driver_->device().ran().contains({tag, whole->second.node(0).type, 0}) ? happened_.grew_running
                                                                              : happened_.grew_unstarted);
    if (grown < whole->second.size()) return true;
    ++happened_.grown_whole;
    growing_.erase(whole);
    return true;
  }

  void count_ends() {
    for (const auto& [tag, kind] : driver_->over()) {
      happened_.done += kind == Event::Kind::kDone ? 1 : 0;
      happened_.failed += kind == Event::Kind::kFailed ? 1 : 0;
      happened_.cancelled += kind == Event::Kind::kCancelled ? 1 : 0;
      happened_.expired += kind == Event::Kind::kExpired ? 1 : 0;
      happened_.stopped_too_late += driver_->stopped_too_late(tag) ? 1 : 0;
    }
    happened_.stuck += driver_->stuck().size();
  }

  void check_everything_is_free() {
    const SchedulerStats stats = driver_->scheduler().stats();
    for (const auto& pool : stats.pools) {
      EXPECT_EQ(pool.reserved, 0U);
      EXPECT_EQ(pool.used, 0U);
    }
    EXPECT_EQ(stats.live_requests, 0U);
    EXPECT_EQ(stats.waiting_requests, 0U);
    EXPECT_EQ(driver_->over().size(), driver_->requests().size());
    for (const auto& type : stats.types) {
      EXPECT_EQ(type.ready, 0U);
      EXPECT_EQ(type.running, 0U);
    }
  }

  std::mt19937_64 random_;
  std::uint32_t workers_ = 1;
  bool idle_check_ = true;
  bool several_models_ = false;
  std::vector<Request> pending_;
  std::vector<Stream> streams_;
  std::uint64_t next_tag_ = 0;
  std::vector<std::uint64_t> live_;
  std::vector<RequestId> not_landed_;
  std::map<std::uint64_t, NodeGraph> growing_;  // requests, and what they will be
  std::size_t reports_seen_ = 0;
  Happened& happened_;
  std::unique_ptr<Driver> driver_;
};

void run_seeds(std::uint64_t first, std::uint64_t count, Batching way) {
  Happened happened;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomRun(seed, way, happened).run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  expect_everything_happened(happened, count);
}

TEST(RandomRuns, CellularKeepsEveryInvariant) {
  run_seeds(1, 10000, Batching::kCellular);
}
TEST(RandomRuns, PaddedKeepsEveryInvariant) {
  run_seeds(1'000'000, 2000, Batching::kPadded);
}
TEST(RandomRuns, DepthKeepsEveryInvariant) {
  run_seeds(2'000'000, 2000, Batching::kDepth);
}
TEST(RandomRuns, AgendaKeepsEveryInvariant) {
  run_seeds(3'000'000, 2000, Batching::kAgenda);
}

}  // namespace
}  // namespace volvox::toy
