#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cells/ir/weights.h"

namespace volvox {

// Random float tensors by name, the same at every run; unless said otherwise between -scale and scale.
class RandomWeights {
 public:
  explicit RandomWeights(float scale = 0.5F) : scale_(scale) {}

  RandomWeights& add(const std::string& name, Shape shape) { return add(name, std::move(shape), scale_); }
  RandomWeights& add(const std::string& name, Shape shape, float scale) {
    std::uniform_real_distribution<float> distribution(-scale, scale);
    auto& values = (*values_)[name];
    values.resize(static_cast<std::size_t>(elements(shape)));
    for (float& v : values) v = distribution(random_);
    tensors_[name] = {DType::kF32, std::move(shape), std::as_bytes(std::span(values))};
    return *this;
  }
  // Of a tensor that was added, to be changed.
  std::vector<float>& values(const std::string& name) { return values_->at(name); }
  Weights weights() const { return {tensors_, values_}; }

 private:
  const float scale_;
  std::mt19937 random_{1};
  std::shared_ptr<std::map<std::string, std::vector<float>>> values_ =
      std::make_shared<std::map<std::string, std::vector<float>>>();
  std::map<std::string, Tensor, std::less<>> tensors_;
};

inline constexpr std::int64_t kVocabulary = 50;  // of embeddings

}  // namespace volvox
