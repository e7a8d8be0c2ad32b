#include "import/onnx/weight_book.h"

#include <cctype>

#include "import/onnx/known.h"

namespace volvox::onnx_import {
namespace {

// A file has no more; but one matrix that many nodes turn around is a weight for each.
constexpr std::size_t kMostElements = std::size_t{1} << 29;

}  // namespace

const std::string& WeightBook::name_of(const KnownTensor& numbers, const Shape& shape,
                                       const std::string& hint) {
  std::string& name = names_[{numbers.get(), shape}];
  if (!name.empty()) return name;
  elements_ += numbers->size();
  if (elements_ > kMostElements)
    refuse("the model has more than " + std::to_string(kMostElements) + " weights");
  for (const char c : hint) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    name += plain ? c : '_';
  }
  const std::string base = name;
  while (taken_.contains(name)) name = base + "." + std::to_string(++taken_[base]);
  taken_[name];
  weights_.push_back({name, shape, as_real(numbers)});
  kept_.push_back(numbers);
  return name;
}

}  // namespace volvox::onnx_import
