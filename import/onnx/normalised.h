#pragma once

#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {

// Each channel of x less its mean, in parts of how far its numbers lie apart, times a scale and a bias of the
// node for it. `mean` makes one number of each channel, over all that it has, which may be steps.
template <class Mean>
Quantity normalised(const NodeCall& call, const Quantity& x, const Mean& mean) {
  CellWriter& w = call.writer;
  const Quantity apart = w.sub(x, mean(x));
  const Quantity around = w.add(mean(w.mul(apart, apart)), known_reals({}, {call.real("epsilon", 1e-5F)}));
  Shape channels(x.rank(), 1);
  channels[1] = x.shape[1];
  const auto of_channels = [&](std::size_t input) {
    const KnownTensor numbers = as_real(call.known_in(input));
    if (static_cast<std::int64_t>(numbers->size()) != x.shape[1])
      refuse("has " + std::to_string(numbers->size()) + " numbers for " + std::to_string(x.shape[1]) +
             " channels");
    return w.reshape(known(numbers), channels);
  };
  const Quantity scaled = w.mul(w.pointwise("div", {apart, w.pointwise("sqrt", {around})}), of_channels(1));
  return w.add(scaled, of_channels(2));
}

}  // namespace volvox::onnx_import
