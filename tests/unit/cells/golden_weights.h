#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/unit/cells/cells_testing.h"

namespace volvox {

// Element i of tensor number `tensor`: the formula of tests/golden/make_lstm_golden.py.
inline std::uint32_t golden_mixed(std::uint32_t tensor, std::uint32_t i) {
  std::uint32_t x = i * 2654435761U + tensor * 40503U + 12345U;
  x = (x ^ (x >> 16)) * 0x45d9f3bU;
  x = (x ^ (x >> 16)) * 0x45d9f3bU;
  return x ^ (x >> 16);
}

inline float golden_weight(std::uint32_t tensor, std::size_t i) {
  const auto centred =
      static_cast<std::int32_t>(golden_mixed(tensor, static_cast<std::uint32_t>(i)) >> 8) - (1 << 23);
  return static_cast<float>(centred) / static_cast<float>(1 << 23) * (tensor == 0 ? 1.0F : 0.5F);
}

class GoldenWeights {
 public:
  GoldenWeights& add(const std::string& name, Shape shape, std::uint32_t tensor, float scale = 1.0F) {
    maker_.add(name, std::move(shape), [=](std::size_t i) { return scale * golden_weight(tensor, i); });
    return *this;
  }
  // weight_ih, weight_hh and bias of an LSTM, tensors `first` to first + 2.
  GoldenWeights& add_lstm(const std::string& name, std::int64_t input, std::int64_t hidden,
                          std::uint32_t first) {
    return add(name + ".weight_ih", {4 * hidden, input}, first)
        .add(name + ".weight_hh", {4 * hidden, hidden}, first + 1)
        .add(name + ".bias", {4 * hidden}, first + 2);
  }
  Weights weights() const { return maker_.weights(); }

 private:
  testing_cells::WeightsMaker maker_;
};

}  // namespace volvox
