// The scheduler's invariants under anything that may happen: graphs of all kinds, late completions, stops,
// cancels, failures, deadlines, ageing, tasks that hang, planes as small as they may be; beside them streams
// in parts, each of which goes on from the state that the last good one left. Each seed is a run of its own;
// a failure prints its seed.

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

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, bool padded) : random_(seed) {
    const std::uint32_t max_batch = 1 + below(9);
    workers_ = 1 + below(3);
    several_models_ = below(2) == 0;
    const std::uint32_t count = 3 + below(25);
    for (std::uint64_t tag = 1; tag <= count; ++tag) pending_.push_back(make(tag));
    next_tag_ = count;
    make_streams();
    SchedulerConfig config = scheduler_config(max_batch, workers_, 1 + below(5), plane_slots());
    if (several_models_) part_into_models(config);
    if (below(3) == 0) config.age = Duration{1000 * (1 + below(60))};
    if (below(3) == 0) {
      for (TypeConfig& type : config.types) type.sizes = sizes_up_to(max_batch);
    }
    for (WorkerId w = 0; !padded && below(2) == 0 && w < workers_; ++w) {
      config.worker_batches.push_back(below(max_batch + 2));
    }
    auto policy =
        padded ? make_padded_policy(config, {1 + below(10), max_batch}) : make_cellular_policy(config);
    const std::uint32_t rows = place_streams(config.pools[kStates].slots);
    driver_ = std::make_unique<Driver>(config, std::move(policy), max_batch, rows);
    idle_check_ = !padded;
  }

  void run() {
    while (!pending_.empty() || below(40) != 0) act();
    while (!not_landed_.empty()) land_one();
    driver_->run_to_the_end();
    driver_->check();
    check_everything_is_free();
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  Request make(std::uint64_t tag) {
    Request request = random_request(random_, tag);
    request.priority = PriorityClass(below(kPriorityClasses));
    request.inputs_landed = below(5) != 0;
    if (below(4) == 0) request.deadline = TimePoint{Duration{1000 * (1 + below(200))}};
    if (several_models_) request.model = model_of(request);
    return request;
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
        row += 2 * lane.ring;
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
      if (over->second != Event::Kind::kDone) continue;
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
    stream.part = lanes_request(stream.running, *stream.plan, steps);
    stream.next = {stream.state ? 1 - stream.state->slot : below(2), steps};
    carry(stream.rows, stream.state, stream.next.slot, stream.part);
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
    stop_some();
  }

  void admit_one() {
    if (pending_.empty()) return;
    const bool landed = pending_.back().inputs_landed;
    const std::uint64_t tag = pending_.back().tag;
    const AdmitResult result = driver_->admit(std::move(pending_.back()));
    pending_.pop_back();
    ASSERT_TRUE(result.kind == AdmitResult::Kind::kAdmitted || result.kind == AdmitResult::Kind::kWaiting)
        << result.reason;
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

  void stop_some() {
    for (; steps_seen_ < driver_->steps().size(); ++steps_seen_) {
      const Event event = driver_->steps()[steps_seen_];
      if (event.kind != Event::Kind::kStepDone || driver_->stopped(event.tag) || below(6) != 0) continue;
      if (!driver_->requests().at(event.tag).plan->lanes[event.lane].until_stopped) continue;
      driver_->set_stopped(event.tag, event.step + 1);
      driver_->stop(event.tag, event.step);
    }
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
  std::size_t steps_seen_ = 0;
  std::unique_ptr<Driver> driver_;
};

void run_seeds(std::uint64_t first, std::uint64_t count, bool padded) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomRun(seed, padded).run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(RandomRuns, CellularKeepsEveryInvariant) {
  run_seeds(1, 10000, false);
}
TEST(RandomRuns, PaddedKeepsEveryInvariant) {
  run_seeds(1'000'000, 2000, true);
}

}  // namespace
}  // namespace volvox::toy
