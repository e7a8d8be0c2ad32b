#include "import/onnx/sequence/open_length.h"

#include <algorithm>
#include <string_view>

namespace volvox::onnx_import {
namespace {

constexpr std::int64_t kNear = std::int64_t{1} << 20;
constexpr std::int64_t kMostOrdinary = std::int64_t{1} << 31;
bool stands_for_something(std::int64_t number) {
  return is_open(number) || (number > kRound - kNear && number < kRound + kNear);
}
constexpr std::string_view kAllowed[] = {"Identity", "Gather",    "Slice",   "Concat", "Squeeze", "Unsqueeze",
                                         "Reshape",  "Cast",      "Add",     "Sub",    "Mul",     "Div",
                                         "Split",    "Transpose", "Flatten", "TopK",   "Shape",   "Size"};

}  // namespace

bool is_open(std::int64_t number) {
  return number > kOpenLength - kNear && number < kOpenLength + kNear;
}

std::int64_t from_the_end(std::int64_t number) {
  return is_open(number) ? number - kOpenLength : number;
}

bool has_open(const Quantity& x) {
  return x.is_known() && !x.known->is_real() &&
         std::any_of(x.known->integers.begin(), x.known->integers.end(), stands_for_something);
}

void compute_with_length(NodeCall& call) {
  const auto* allowed = std::find(std::begin(kAllowed), std::end(kAllowed), call.node.op);
  if (allowed == std::end(kAllowed))
    refuse("depends on the length of the sequence, which may be any, or on the number of a step");
  find_rule(call.node.op)->write(call);
  for (const Quantity& made : call.outputs) {
    const auto means_something = [](std::int64_t number) {
      return stands_for_something(number) || (number > -kMostOrdinary && number < kMostOrdinary);
    };
    const bool fine = made.is_known() && !made.known->is_real() &&
                      std::all_of(made.known->integers.begin(), made.known->integers.end(), means_something);
    if (!fine) refuse("computes with the length of the sequence, which may be any");
  }
}

}  // namespace volvox::onnx_import
