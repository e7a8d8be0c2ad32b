#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/gpu/cuda_on_host.h"
// What it stands in for.
#include "gpu/fused/lstm.cuh"
#include "gpu/fused/lstm.h"
#include "tests/unit/gpu/wavefronts.h"

// The fused kernel itself, tiles, loads, barriers and all, against its plain loop (LstmStep::run_on_host).
namespace volvox::gpu {
namespace {

std::uint64_t address(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

// A task of an LSTM with a table and a plane as operands, in memory of its own.
class LstmTask {
 public:
  LstmTask(std::uint32_t rows, std::uint32_t units, std::uint32_t input, ElementType type, bool tf32)
      : rows_(rows), units_(units) {
    std::mt19937 random(units + rows);
    std::uniform_real_distribution<float> draw(-0.5F, 0.5F);
    for (auto* values : {&table_, &states_, &bias_}) values->resize(std::size_t{64} * (input + 4 * units));
    for (auto* values : {&table_, &states_, &bias_}) {
      for (float& v : *values) v = draw(random);
    }
    for (std::uint32_t r = 0; r < rows; ++r) {
      tokens_.push_back(static_cast<std::int32_t>(random() % 20) - 2);  // some are not in the table
      slots_.push_back(random() % 20);
      out_.push_back(r);
    }
    for (const std::int32_t& token : tokens_) pulls_.push_back(address(&token));
    pulls_[0] = 0;
    weights_.resize(std::size_t{(units + kLstmUnits - 1) / kLstmUnits} * (input + units) * kLstmColumns *
                        element_bytes(type) +
                    16);
    for (std::size_t i = 0; i + 16 < weights_.size(); i += element_bytes(type)) {
      store_bits(aligned_weights() + i, type, bits_of(draw(random)));
    }
    describe(input, type, tf32);
  }

  // h and c of all rows.
  template <class Run>
  std::vector<float> results(Run run) {
    h_.assign(std::size_t{rows_} * units_, NAN);
    c_ = h_;
    call_.h_out.base = address(h_.data());
    call_.c_out.base = address(c_.data());
    state_ = {};
    completion_ = {};
    run(call_);
    EXPECT_EQ(completion_.done, 7U) << "the last block says so";
    EXPECT_EQ(state_.head, 1U);
    EXPECT_EQ(state_.blocks_done, 0U);
    std::vector<float> all = h_;
    all.insert(all.end(), c_.begin(), c_.end());
    return all;
  }

 private:
  std::uint64_t aligned_weights() const { return (address(weights_.data()) + 15) / 16 * 16; }

  void describe(std::uint32_t input, ElementType type, bool tf32) {
    header_.seq = 7;
    call_.task.queue = {address(&header_), 0, address(&state_), address(&completion_)};
    call_.task.view.gathers[0] = address(slots_.data());
    call_.task.view.pulls[0] = address(pulls_.data());
    call_.task.view.out = address(out_.data());
    places_.resize(1);
    places_[0].kind = Place::Kind::kInput;
    places_[0].type = ElementType::kI32;
    call_.task.places = address(places_.data());
    call_.terms[0].kind = Place::Kind::kTable;
    call_.terms[0].base = address(table_.data());
    call_.terms[0].stride_bytes = input * 4;
    call_.terms[0].rows = 16;
    call_.terms[1] = plane(address(states_.data()), Place::Kind::kPlane);
    call_.widths[0] = input;
    call_.widths[1] = units_;
    call_.term_count = 2;
    call_.width = input + units_;
    call_.start.kind = Place::Kind::kVector;
    call_.start.base = address(bias_.data());
    call_.c_in = plane(address(states_.data()), Place::Kind::kPlane);
    call_.h_out = call_.c_out = plane(0, Place::Kind::kOut);
    call_.weights = aligned_weights();
    call_.task.rows = rows_;
    call_.units = units_;
    call_.type = type;
    call_.tf32 = tf32 ? 1 : 0;
  }
  Place plane(std::uint64_t base, Place::Kind kind) const {
    Place place;
    place.kind = kind;
    place.base = base;
    place.stride_bytes = units_ * 4;
    return place;
  }

  std::uint32_t rows_, units_;
  TaskHeader header_{};
  QueueState state_{};
  Completion completion_{};
  std::vector<Place> places_;
  std::vector<float> table_, states_, bias_, h_, c_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint32_t> slots_, out_;
  std::vector<std::uint64_t> pulls_;
  std::vector<std::byte> weights_;
  LstmCall call_;
};

template <class T>
void expect_same(ElementType type, bool tf32, double tolerance) {
  for (const auto [rows, units, input] : {std::array{1U, 32U, 32U}, std::array{70U, 64U, 96U}}) {
    LstmTask task(rows, units, input, type, tf32);
    const auto want = task.results([](const LstmCall& call) { LstmStep(call).run_on_host(call.task); });
    const auto got = task.results([](const LstmCall& call) {
      const dim3 grid{(call.units + kLstmUnits - 1) / kLstmUnits,
                      (call.task.rows + kLstmRows - 1) / kLstmRows};
      run_grid(grid, lstm::kThreads, [&] { lstm::kernel<T>(call); });
    });
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], tolerance) << i << " of " << rows << " rows, " << units << " units";
    }
  }
}

template <class T>
void expect_no_conflicts_in_stores() {
  using Made = lstm::Tiles<T>;
  constexpr unsigned kSize = sizeof(typename T::Element);
  constexpr unsigned kVectors = T::kDepth * kLstmColumns / Made::kVectorElements;
  std::set<unsigned> operands, weights;
  for (unsigned first = 0; first < kVectors; first += 8) {
    std::array<unsigned, 8> a{}, b{};
    for (unsigned i = 0; i < 8; ++i) {
      a[i] = Made::a_at((first + i) % lstm::kThreads) * kSize;
      b[i] = Made::b_at(first + i) * kSize;
    }
    ASSERT_EQ(wavefronts(a), 1U) << "operands, from thread " << first % lstm::kThreads;
    ASSERT_EQ(wavefronts(b), 1U) << "weights, from vector " << first;
    operands.insert(a.begin(), a.end());
    weights.insert(b.begin(), b.end());
  }
  EXPECT_EQ(operands.size(), lstm::kThreads) << "each thread has a place of its own";
  EXPECT_EQ(weights.size(), kVectors);
}

TEST(LstmTile, StoresMeetInNoBank) {
  expect_no_conflicts_in_stores<lstm::Bf16>();
  expect_no_conflicts_in_stores<lstm::F16>();
  expect_no_conflicts_in_stores<lstm::Tf32>();
}

// ldmatrix takes 8 by 8 elements of 16 bits at once: 8 rows of 16 bytes.
TEST(LstmTile, LoadsOfFragmentsMeetInNoBank) {
  using Made = lstm::Tiles<lstm::Bf16>;
  for (unsigned stride : {Made::kStrideA, Made::kStrideB}) {
    for (unsigned column = 0; column < stride - lstm::kPad; column += 8) {
      std::array<unsigned, 8> rows{};
      for (unsigned i = 0; i < 8; ++i) rows[i] = (i * stride + column) * 2;
      EXPECT_EQ(wavefronts(rows), 1U) << "rows " << stride << " apart, column " << column;
    }
  }
}

TEST(LstmTile, ComputesInBfloat16) {
  expect_same<lstm::Bf16>(ElementType::kBf16, false, 1e-5);
}
TEST(LstmTile, ComputesInFloat16) {
  expect_same<lstm::F16>(ElementType::kF16, false, 1e-5);
}
TEST(LstmTile, ComputesInTf32) {
  expect_same<lstm::Tf32>(ElementType::kF32, true, 2e-3);
}

}  // namespace
}  // namespace volvox::gpu
