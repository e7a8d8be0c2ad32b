#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/gpu/hopper_on_host.h"
// What it stands in for.
#include "gpu/fused/hopper_lstm.cuh"
#include "gpu/fused/lstm.h"

// The step for Hopper itself, stages, barriers, swizzles and exchange, on threads of the host under random
// schedules, against its plain loop (LstmStep::run_on_host).
namespace volvox::gpu::hopper {
namespace {

std::uint64_t address(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

constexpr LstmLayout kLayout = {kUnits, kDepth, true, true, weight_at, weight_elements};

// A direct task of an LSTM with a table and a state as operands, in memory of its own.
template <class T>
class StepTask {
 public:
  // `late`: elements of one more operand, which is no table. `gathered`: what rows start from is a state,
  // too.
  StepTask(std::uint32_t rows, std::uint32_t units, std::uint32_t input, ElementType type,
           std::uint32_t late = 0, bool gathered = false)
      : rows_(rows), units_(units), shadow_(units * 4), stride_(units * 6) {
    std::mt19937 random(units + rows);
    std::uniform_real_distribution<float> draw(-0.5F, 0.5F);
    table_.resize(std::size_t{16} * input);
    for (std::uint16_t& v : table_) v = T::bits(draw(random));
    states_.resize(std::size_t{20} * stride_);
    for (std::uint32_t slot = 0; slot < 20; ++slot) {
      for (std::uint32_t k = 0; k < units; ++k) put(states_, slot, k, draw(random));
    }
    bias_.resize(std::size_t{4} * units);
    for (float& v : bias_) v = draw(random);
    starts_.resize(gathered ? std::size_t{20} * 4 * units : 0);
    for (float& v : starts_) v = draw(random);
    late_.resize(std::size_t{20} * late);
    for (std::uint16_t& v : late_) v = T::bits(draw(random));
    weights_.resize(weight_elements(input + late + units, units));
    for (std::uint16_t& v : weights_) v = T::bits(draw(random));
    for (std::uint32_t r = 0; r < rows; ++r) {
      tokens_.push_back(static_cast<std::int32_t>(random() % 20) - 2);  // some are not in the table
      slots_.push_back(random() % 20);
      out_.push_back(r);
      wanted_.push_back(r % 3 == 0 ? 1 : 0);
    }
    for (const std::int32_t& token : tokens_) pulls_.push_back(address(&token));
    pulls_[0] = 0;
    describe(input, late, type);
  }

  // Everything that the task leaves: both states with their copies, and what was pushed.
  template <class Run>
  std::vector<float> results(Run run) {
    h_.assign(std::size_t{rows_} * stride_, std::byte{0xff});
    c_ = h_;
    pushed_.assign(std::size_t{rows_} * units_, NAN);
    call_.h_out.base = address(h_.data());
    call_.c_out.base = address(c_.data());
    for (std::uint32_t r = 0; r < rows_; ++r)
      targets_[r * kTargets + 1] = wanted_[r] != 0 ? address(&pushed_[std::size_t{r} * units_]) : 0;
    state_ = {};
    state_.written = 4 * kWhole;
    completion_ = {};
    run(call_);
    EXPECT_EQ(completion_.done, 7U) << "the last block says so";
    EXPECT_EQ(state_.head, 0U) << "the ring has nothing of a direct task";
    EXPECT_EQ(state_.blocks_done, 0U);
    EXPECT_EQ(state_.written, 5 * kWhole) << "the step behind may begin";
    EXPECT_EQ(state_.published, 5U);
    EXPECT_GT(state_.started_ns[1], 0U) << "one thread says when the task began";
    EXPECT_EQ(state_.started_ns[0], 0U) << "that is of the task ahead";
    EXPECT_GT(completion_.kernel_ns, 0U);
    std::vector<float> all;
    for (const auto* plane : {&h_, &c_}) {
      for (std::uint32_t r = 0; r < rows_; ++r) {
        const std::byte* row = plane->data() + std::size_t{r} * stride_;
        for (std::uint32_t k = 0; k < units_; ++k) {
          const float number = reinterpret_cast<const float*>(row)[k];
          EXPECT_EQ(reinterpret_cast<const std::uint16_t*>(row + shadow_)[k], T::bits(number));
          all.push_back(number);
        }
      }
    }
    for (std::uint32_t r = 0; r < rows_; ++r) {
      for (std::uint32_t k = 0; k < units_; ++k) {
        const float number = pushed_[std::size_t{r} * units_ + k];
        EXPECT_EQ(std::isnan(number), wanted_[r] == 0);
        all.push_back(wanted_[r] == 0 ? 0 : number);
      }
    }
    return all;
  }

  // The task ahead of this one, which is still to write all that this one reads of states.
  std::thread task_ahead() {
    std::vector<std::byte> wrote = states_;
    std::vector<float> wrote_starts = starts_;
    std::fill(states_.begin(), states_.end(), std::byte{0xff});  // not numbers
    std::fill(starts_.begin(), starts_.end(), NAN);
    --state_.written;  // the last of its blocks
    return std::thread([this, wrote = std::move(wrote), wrote_starts = std::move(wrote_starts)] {
      hand_over(&state_.resolved, 5);
      // Whoever does not wait has all the time to read too early.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::copy(wrote.begin(), wrote.end(), states_.begin());
      std::copy(wrote_starts.begin(), wrote_starts.end(), starts_.begin());
      add_to(&state_.written, 1);
      for (unsigned i = 0; i < 1000; ++i) std::this_thread::yield();
      hand_over(&state_.published, 4);
    });
  }

 private:
  void put(std::vector<std::byte>& plane, std::uint32_t slot, std::uint32_t k, float number) const {
    std::byte* row = plane.data() + std::size_t{slot} * stride_;
    reinterpret_cast<float*>(row)[k] = number;
    reinterpret_cast<std::uint16_t*>(row + shadow_)[k] = T::bits(number);
  }

  void describe(std::uint32_t input, std::uint32_t late, ElementType type) {
    call_.task.queue = {0, 0, address(&state_), address(&completion_)};
    call_.task.seq = 7;
    call_.task.turn = 5;
    call_.task.rows = rows_;
    RowView& view = call_.task.view;
    view.gathers[0] = address(slots_.data());
    view.pulls[0] = address(pulls_.data());
    view.out = address(out_.data());
    view.wanted = address(wanted_.data());
    targets_.resize(std::size_t{rows_} * kTargets);
    view.pushes[0] = address(targets_.data());
    places_.resize(1);
    places_[0].kind = Place::Kind::kInput;
    places_[0].type = ElementType::kI32;
    call_.task.places = address(places_.data());
    call_.terms[0].kind = Place::Kind::kTable;
    call_.terms[0].type = type;
    call_.terms[0].base = address(table_.data());
    call_.terms[0].stride_bytes = input * 2;
    call_.terms[0].rows = 16;
    call_.c_in = plane(address(states_.data()), Place::Kind::kPlane);
    call_.widths[0] = input;
    call_.term_count = 1;
    if (late > 0) {
      Place& more = call_.terms[call_.term_count];
      more = plane(address(late_.data()), Place::Kind::kPlane);
      more.stride_bytes = late * 2;
      more.type = type;
      call_.widths[call_.term_count++] = late;
    }
    Place& h = call_.terms[call_.term_count];
    h = call_.c_in;
    h.base += shadow_;
    h.type = type;
    call_.widths[call_.term_count++] = units_;
    call_.width = input + late + units_;
    if (starts_.empty()) {
      call_.start.kind = Place::Kind::kVector;
      call_.start.base = address(bias_.data());
    } else {
      call_.start = plane(address(starts_.data()), Place::Kind::kPlane);
      call_.start.stride_bytes = 4 * units_ * 4;
    }
    call_.h_out = call_.c_out = plane(0, Place::Kind::kOut);
    call_.h_out.shadow = call_.c_out.shadow = shadow_;
    call_.h_out.shadow_type = call_.c_out.shadow_type = type;
    call_.h_push[0].kind = Place::Kind::kResult;
    call_.h_pushes = 1;
    call_.weights = address(weights_.data());
    call_.units = units_;
    call_.type = type;
    find_sources();
  }

  // As a task's first kernel does.
  void find_sources() {
    Place places[kMaxSources];
    const std::uint32_t count = lstm_sources(call_, places);
    for (std::uint32_t s = 0; s < count; ++s) {
      sources_[s].resize(rows_);
      for (std::uint32_t row = 0; row < rows_; ++row) {
        const Element e{&call_.task.view, nullptr, call_.task.places, 0, row, 0, 0};
        sources_[s][row] = source_address(places[s], e);
      }
      call_.task.view.sources[s] = address(sources_[s].data());
    }
  }

  Place plane(std::uint64_t base, Place::Kind kind) const {
    Place place;
    place.kind = kind;
    place.base = base;
    place.stride_bytes = stride_;
    return place;
  }

  std::uint32_t rows_, units_, shadow_, stride_;
  QueueState state_{};
  Completion completion_{};
  std::vector<Place> places_;
  std::vector<std::uint16_t> table_, late_, weights_;
  std::vector<std::byte> states_, h_, c_;
  std::vector<float> bias_, starts_, pushed_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint32_t> slots_, out_, wanted_;
  std::vector<std::uint64_t> pulls_, targets_, sources_[kMaxSources];
  LstmCall call_;
};

// Two tiles of units; slabs enough that some stages are used three times, or twice by each of a sum's blocks.
template <class T, class S>
void expect_same(std::uint32_t rows, ElementType type, unsigned seed) {
  SCOPED_TRACE(std::to_string(rows) + " rows, tiles of " + std::to_string(S::kRows) + ", " +
               std::to_string(S::kSplit) + " blocks a sum, " + std::to_string(S::kMates) + " mates, seed " +
               std::to_string(seed));
  constexpr std::uint32_t kTiles = 2, kState = kTiles * kUnits, kTurns = S::kSplit == 1 ? 2 : 1;
  constexpr std::uint32_t kSlabs = S::kSplit * (kTurns * S::kStages + 2);
  static_assert(kState == kDepth);
  StepTask<T> task(rows, kState, (kSlabs - 1) * kDepth, type);
  const auto want =
      task.results([](const LstmCall& call) { LstmStep(call, kLayout).run_on_host(call.task); });
  const auto got = task.results([&](const LstmCall& call) {
    constexpr std::uint32_t kMatesRows = S::kRows * S::kMates;
    const dim3 grid{kTiles, (rows + kMatesRows - 1) / kMatesRows * S::kMates, S::kSplit};
    run_clusters(grid, S::kMates, kThreads, S::kSharedBytes, sizeof(typename S::Meeting), seed,
                 [&] { kernel<T, S>(call); });
  });
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << i;
}

TEST(HopperLstm, ComputesInEveryCut) {
  expect_same<Bf16, Shape<128, 1>>(130, ElementType::kBf16, 1);
  expect_same<Bf16, Shape<128, 2>>(130, ElementType::kBf16, 2);
  expect_same<Bf16, Shape<64, 1>>(70, ElementType::kBf16, 3);
  expect_same<Bf16, Shape<64, 2>>(1, ElementType::kBf16, 4);
  expect_same<F16, Shape<64, 2>>(70, ElementType::kF16, 5);
}

TEST(HopperLstm, BlocksBringWeightsForTheirMates) {
  expect_same<Bf16, Shape<128, 1, 2>>(130, ElementType::kBf16, 6);
  // The last of three tiles has a mate without rows.
  expect_same<F16, Shape<64, 1, 2>>(130, ElementType::kF16, 7);
}

// Slabs that are early, and those after them but the last.
template <class S>
void expect_to_wait(std::uint32_t early, std::uint32_t late = 0, bool gathered = false) {
  constexpr std::uint32_t kRows = 70;
  StepTask<Bf16> task(kRows, 2 * kUnits, early * kDepth, ElementType::kBf16, late * kDepth, gathered);
  const auto want =
      task.results([](const LstmCall& call) { LstmStep(call, kLayout).run_on_host(call.task); });
  const auto got = task.results([&](LstmCall call) {
    call.task.chained = 1;
    std::thread ahead = task.task_ahead();
    run_clusters({2, 2, S::kSplit}, S::kMates, kThreads, S::kSharedBytes, sizeof(typename S::Meeting), 20,
                 [&] { kernel<Bf16, S>(call); });
    ahead.join();
  });
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << i;
}

TEST(HopperLstm, WaitsForTheStepAhead) {
  expect_to_wait<Shape<64, 2>>(7);
}

// What rows start from may be what the step ahead writes.
TEST(HopperLstm, WaitsForStartsThatTheStepAheadWrites) {
  expect_to_wait<Shape<64, 1>>(7, 0, true);
  expect_to_wait<Shape<64, 2>>(7, 0, true);
}

// Of late slabs so many that the last ones whose weights come early need a stage that the last early slab
// has.
TEST(HopperLstm, BringsWeightsBeforeTheStepAheadHasEnded) {
  constexpr std::uint32_t kStages = Shape<64, 1>::kStages;
  expect_to_wait<Shape<64, 1>>(kStages + 1, kStages + 1);
  expect_to_wait<Shape<64, 1, 2>>(kStages + 1, kStages + 1);
  expect_to_wait<Shape<64, 1>>(1, kStages);
  expect_to_wait<Shape<64, 2>>(3 * kStages + 1, kStages);
}

TEST(HopperLstm, DoesNotDependOnWhenCopiesAreMade) {
  for (unsigned seed = 10; seed < 14; ++seed) expect_same<Bf16, Shape<64, 2>>(13, ElementType::kBf16, seed);
  for (unsigned seed = 20; seed < 22; ++seed)
    expect_same<Bf16, Shape<64, 1, 2>>(70, ElementType::kBf16, seed);
}

}  // namespace
}  // namespace volvox::gpu::hopper
