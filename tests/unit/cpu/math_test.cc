#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/isa.h"
#include "cpu/kernel/kernels.h"

namespace volvox::cpu {
namespace {

using Function = void (*Kernels::*)(const float*, float*, std::size_t);

struct Case {
  const char* name;
  Function function;
  double (*exact)(double);
  double max_ulp;    // where the result is normal
  double max_error;  // elsewhere, absolute
};

double exact_sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double exact_exp(double x) {
  return std::exp(x);
}
double exact_tanh(double x) {
  return std::tanh(x);
}
double exact_log(double x) {
  return std::log(x);
}
double exact_erf(double x) {
  return std::erf(x);
}

// The documented bounds of cpu/math/activations.h.
const Case kCases[] = {
    {"exp", &Kernels::exp, exact_exp, 0.93, 0x1p-149},
    {"sigmoid", &Kernels::sigmoid, exact_sigmoid, 2.42, 0x1p-126},
    {"tanh", &Kernels::tanh, exact_tanh, 2.51, 0x1p-149},
    {"log", &Kernels::log, exact_log, 0.95, 0x1p-149},
    {"erf", &Kernels::erf, exact_erf, 1.01, 0x1p-149},
};

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kSmallest = std::numeric_limits<float>::min();

// Every 4099th float of both signs, which is every binade many times, and all floats near the limits.
std::vector<float> sweep() {
  std::vector<float> x;
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 4099) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-std::bit_cast<float>(bits));
  }
  for (float limit : {0.0F, 0.34657359F, 0.66666667F, 1.0F, 1.33333333F, 4.0F, 9.0F, 40.0F, 87.33654F, 87.68F,
                      88.0F, 88.72284F, 89.0F, 103.97208F, 104.0F}) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(limit);
    bits = bits < 2000 ? 0 : bits - 2000;
    for (int i = 0; i < 4000; ++i) {
      x.push_back(std::bit_cast<float>(bits + i));
      x.push_back(-std::bit_cast<float>(bits + i));
    }
  }
  return x;
}

double ulp_of(double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

std::vector<float> apply(const Kernels& kernels, Function function, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  (kernels.*function)(x.data(), y.data(), x.size());
  return y;
}

TEST(Math, StaysWithinItsDocumentedErrors) {
  const std::vector<float> x = sweep();
  for (const Case& c : kCases) {
    const std::vector<float> y = apply(*kernels_for(Isa::kAuto), c.function, x);
    double worst = 0, worst_small = 0;
    float worst_at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = c.exact(x[i]);
      if (exact > std::numeric_limits<float>::max()) {
        ASSERT_TRUE(y[i] == kInf || y[i] == std::numeric_limits<float>::max()) << c.name << " " << x[i];
        continue;
      }
      const double error = std::abs(y[i] - exact);
      if (std::abs(exact) < kSmallest) {
        worst_small = std::max(worst_small, error);
      } else if (error / ulp_of(exact) > worst) {
        worst = error / ulp_of(exact);
        worst_at = x[i];
      }
    }
    EXPECT_LE(worst, c.max_ulp) << c.name << " at " << worst_at;
    EXPECT_LE(worst_small, c.max_error) << c.name;
    RecordProperty(std::string(c.name) + "_ulp", std::to_string(worst));
  }
}

TEST(Math, KnowsTheSpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float denormal = std::numeric_limits<float>::denorm_min();
  for (Isa isa : supported_isas()) {
    const Kernels& k = *kernels_for(isa);
    const std::vector<float> x = {kInf, -kInf, 0.0F, -0.0F, 1000.0F, -1000.0F, denormal, -3 * denormal};
    EXPECT_EQ(apply(k, &Kernels::exp, x), (std::vector<float>{kInf, 0, 1, 1, kInf, 0, 1, 1}));
    EXPECT_EQ(apply(k, &Kernels::sigmoid, x), (std::vector<float>{1, 0, 0.5F, 0.5F, 1, 0, 0.5F, 0.5F}));
    EXPECT_EQ(apply(k, &Kernels::tanh, x), (std::vector<float>{1, -1, 0, 0, 1, -1, denormal, -3 * denormal}));
    EXPECT_EQ(apply(k, &Kernels::erf, x), (std::vector<float>{1, -1, 0, 0, 1, -1, denormal, -3 * denormal}));
    EXPECT_EQ(apply(k, &Kernels::log, {kInf, 0.0F, -0.0F, 1.0F}),
              (std::vector<float>{kInf, -kInf, -kInf, 0}));
    EXPECT_FLOAT_EQ(apply(k, &Kernels::log, {denormal})[0], -103.27893F);
    for (float y : apply(k, &Kernels::log, {-1.0F, -kInf, -denormal})) EXPECT_TRUE(std::isnan(y)) << k.name;
    EXPECT_TRUE(std::signbit(apply(k, &Kernels::tanh, {-0.0F})[0]));
    EXPECT_EQ(apply(k, &Kernels::relu, x), (std::vector<float>{kInf, 0, 0, 0, 1000, 0, denormal, 0}));
    EXPECT_TRUE(std::signbit(apply(k, &Kernels::relu, {-0.0F})[0])) << "as its definition has it";
    EXPECT_EQ(apply(k, &Kernels::sqrt, {kInf, 0.0F, 4.0F, 2.0F}),
              (std::vector<float>{kInf, 0, 2, 1.41421356F}));
    for (const auto of : {&Kernels::relu, &Kernels::sqrt}) EXPECT_TRUE(std::isnan(apply(k, of, {nan})[0]));
    EXPECT_TRUE(std::isnan(apply(k, &Kernels::sqrt, {-1.0F})[0]));
    for (const Case& c : kCases) {
      const std::vector<float> odd = {nan, -nan, std::bit_cast<float>(0x7fc00001U),
                                      std::bit_cast<float>(0xff800001U)};
      for (float y : apply(k, c.function, odd)) EXPECT_TRUE(std::isnan(y)) << c.name << " " << k.name;
    }
  }
}

TEST(Math, GivesTheSameBitsOnEveryPath) {
  const std::vector<float> x = sweep();
  for (const Case& c : kCases) {
    const std::vector<float> want = apply(*portable_kernels(), c.function, x);
    for (Isa isa : supported_isas()) {
      const std::vector<float> got = apply(*kernels_for(isa), c.function, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
            << c.name << "(" << x[i] << ") " << to_string(isa);
      }
    }
  }
}

TEST(Math, KeepsItsHandsOffWhatFollowsAnArray) {
  for (Isa isa : supported_isas()) {
    for (std::size_t n = 0; n <= 35; ++n) {
      std::vector<float> x(n, 0.5F), y(n + 1, 7.0F);
      kernels_for(isa)->tanh(x.data(), y.data(), n);
      EXPECT_EQ(y[n], 7.0F);
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], std::tanh(0.5), 1e-6);
    }
  }
}

// Few different numbers, so that most arrays hold their largest several times, and many NaNs.
TEST(Math, ArgmaxIsTheFirstOfTheLargest) {
  std::mt19937 random(3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t n = 1; n <= 600; ++n) {
    std::vector<float> x(n);
    const std::uint32_t nans = random() % 3 == 0 ? 9 : 1;
    for (float& v : x) {
      v = static_cast<float>(random() % (2 * n)) - static_cast<float>(n);
      if (random() % 10 < nans) v = random() % 2 == 0 ? nan : -kInf;
    }
    std::size_t want = 0;
    for (std::size_t i = 1; i < n; ++i) {
      if (x[i] > x[want] || (std::isnan(x[want]) && !std::isnan(x[i]))) want = i;
    }
    for (Isa isa : supported_isas()) {
      ASSERT_EQ(kernels_for(isa)->argmax(x.data(), n), static_cast<std::int32_t>(want))
          << n << " elements, " << to_string(isa);
    }
  }
}

TEST(Math, TanhIsOddAndBounded) {
  const std::vector<float> x = sweep();
  const std::vector<float> y = apply(*kernels_for(Isa::kAuto), &Kernels::tanh, x);
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    ASSERT_EQ(y[i], -y[i + 1]) << x[i];
    ASSERT_LE(y[i], 1.0F);
  }
}

}  // namespace
}  // namespace volvox::cpu
