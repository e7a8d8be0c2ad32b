#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cells/ir/types.h"
#include "import/onnx/graph.h"

namespace volvox::onnx_import {

// The weights of all cells of one model, each under a name of its own: cells that read the same tensor name
// the same weight, and no two tensors have one name.
class WeightBook {
 public:
  struct Weight {
    std::string name{};
    Shape shape{};
    KnownTensor numbers{};
  };

  // The name of these numbers in this shape. New ones are called like the hint, as far as a name may; refused
  // where all together would be more than a model may have.
  const std::string& name_of(const KnownTensor& numbers, const Shape& shape, const std::string& hint);
  const std::vector<Weight>& all() const { return weights_; }

 private:
  std::vector<Weight> weights_;
  std::map<std::pair<const Constant*, Shape>, std::string> names_;
  std::map<std::string, std::uint32_t> taken_;
  std::size_t elements_ = 0;       // of all weights
  std::vector<KnownTensor> kept_;  // so that no other tensor gets the address of one that has a name
};

}  // namespace volvox::onnx_import
