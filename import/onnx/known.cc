#include "import/onnx/known.h"

#include <cmath>
#include <limits>
#include <utility>

#include "cells/ir/infer.h"
#include "cells/ir/inference.h"

namespace volvox::onnx_import {

namespace {

std::int64_t elements_up_to(const Shape& shape, std::int64_t most, const char* what) {
  if (shape.size() > kMaxRank) refuse("a shape of " + std::to_string(shape.size()) + " axes, at most 8");
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > most || (extent > 0 && count > most / extent))
      refuse("the shape " + to_string(shape) + " has more elements than " + what + " may have");
    count *= extent;
  }
  return count;
}

}  // namespace

std::int64_t checked_elements(const Shape& shape) {
  return elements_up_to(shape, kMaxValueElements, "a value");
}

std::int64_t checked_numbers(const Shape& shape) {
  return elements_up_to(shape, kMaxConstantElements, "a tensor");
}

Quantity known(KnownTensor tensor) {
  Quantity made{.shape = tensor->shape};
  made.known = std::move(tensor);
  return made;
}

Quantity known_reals(Shape shape, std::vector<float> reals) {
  return known(std::make_shared<Constant>(
      Constant{.type = Constant::Type::kReal, .shape = std::move(shape), .reals = std::move(reals)}));
}

Quantity known_integers(Shape shape, std::vector<std::int64_t> integers) {
  return known(std::make_shared<Constant>(Constant{
      .type = Constant::Type::kInteger, .shape = std::move(shape), .integers = std::move(integers)}));
}

KnownTensor picked(const Constant& x, Shape shape, const std::vector<std::int64_t>& from) {
  Constant made{.type = x.type, .shape = std::move(shape)};
  for (const std::int64_t at : from) {
    const auto place = static_cast<std::size_t>(at);
    x.is_real() ? made.reals.push_back(x.reals[place]) : made.integers.push_back(x.integers[place]);
  }
  return std::make_shared<Constant>(std::move(made));
}

KnownTensor as_real(const KnownTensor& x) {
  if (x->is_real()) return x;
  Constant made{.shape = x->shape};
  for (const std::int64_t number : x->integers) made.reals.push_back(static_cast<float>(number));
  return std::make_shared<Constant>(std::move(made));
}

KnownTensor as_integer(const KnownTensor& x) {
  if (!x->is_real()) return x;
  Constant made{.type = Constant::Type::kInteger, .shape = x->shape};
  constexpr float kMost = 9.2e18F;
  for (const float number : x->reals) {
    const bool fits = number > -kMost && number < kMost;  // a NaN does not
    made.integers.push_back(fits         ? static_cast<std::int64_t>(number)
                            : number > 0 ? std::numeric_limits<std::int64_t>::max()
                            : number < 0 ? std::numeric_limits<std::int64_t>::min()
                                         : 0);
  }
  return std::make_shared<Constant>(std::move(made));
}

std::vector<std::int64_t> spread_places(const Shape& from, const Shape& shape) {
  const auto count = static_cast<std::size_t>(checked_elements(shape));
  std::vector<std::int64_t> places(count);
  const std::size_t missing = shape.size() - from.size();
  for (std::size_t i = 0; i < count; ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0, step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const std::int64_t index = rest % shape[axis];
      rest /= shape[axis];
      if (axis < missing) continue;
      const std::int64_t extent = from[axis - missing];
      if (extent != 1) at += index * step;
      step *= extent;
    }
    places[i] = at;
  }
  return places;
}

Quantity integers_of(const Quantity& a, const Quantity& b,
                     std::int64_t (*combine)(std::int64_t, std::int64_t)) {
  Shape shape;
  if (!spread_shape(a.shape, b.shape, shape))
    refuse("its inputs have the shapes " + to_string(a.shape) + " and " + to_string(b.shape));
  const KnownTensor left = as_integer(a.known), right = as_integer(b.known);
  const auto from_left = spread_places(a.shape, shape), from_right = spread_places(b.shape, shape);
  std::vector<std::int64_t> made(from_left.size());
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = combine(left->integers[static_cast<std::size_t>(from_left[i])],
                      right->integers[static_cast<std::size_t>(from_right[i])]);
  return known_integers(std::move(shape), std::move(made));
}

Quantity reals_of(CellWriter& writer, const Quantity& x) {
  return x.is_known() ? known(as_real(x.known)) : writer.as_f32(x);
}

}  // namespace volvox::onnx_import
