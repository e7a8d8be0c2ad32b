#include <cstddef>

#include "cells/ops/define.h"
#include "cells/ops/philox.h"

namespace volvox {
namespace {

struct Uniform {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto word = [&](std::size_t input) {
      return static_cast<std::uint32_t>(row.template integer<std::int32_t>(op.inputs[input]));
    };
    const auto stream = static_cast<std::uint32_t>(op.attributes.integers[0]);
    // As many bits as an f32 has: the number is the same in the reals of the reference.
    constexpr int kBits = 24;
    const std::uint32_t drawn = philox({word(1), 0, 0, 0}, {word(0), stream})[0] >> (32 - kBits);
    *row.real(op.output) = static_cast<Real>(drawn) / Real{1U << kBits};
  }
};

Status infer(Inference& at) {
  if (Status status = at.attributes(1, 1, 0); !status) return status;
  for (std::size_t i = 0; i < 2; ++i) {
    if (Status status = at.want(i, DType::kI32, false); !status) return status;
    if (!at.in(i).shape.empty())
      return at.error("input " + std::to_string(i) + " has the shape " + to_string(at.in(i).shape) +
                      ", needs []");
  }
  return at.produce({DType::kF32, {}, false});
}

}  // namespace

extern const OpDef kUniformOp;
constinit const OpDef kUniformOp = computed_op<Uniform>(
    "uniform", 2, 0, infer,
    "(seed i32, counter i32; stream) -> a number from 0 to below 1, the same for the same three: the upper "
    "24 bits "
    "of the first word of Philox 4×32-10, of the counter (counter, 0, 0, 0) and the key (seed, stream)");

}  // namespace volvox
