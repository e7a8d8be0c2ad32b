#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

// A named, read-only tensor; the bytes belong to the Weights it came from.
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;

  const float* f32() const { return reinterpret_cast<const float*>(bytes.data()); }
};

// The weights of one model version by name. `owner` keeps the bytes alive (a memory map, or memory).
// Once complete, any thread may read.
class Weights {
 public:
  Weights() = default;
  Weights(std::map<std::string, Tensor, std::less<>> tensors, std::shared_ptr<const void> owner)
      : tensors_(std::move(tensors)), owners_{std::move(owner)} {}

  // One more, whose bytes `owner` keeps alive; in the place of one of the same name.
  void add(std::string name, Tensor tensor, std::shared_ptr<const void> owner) {
    tensors_[std::move(name)] = std::move(tensor);
    owners_.push_back(std::move(owner));
  }

  const Tensor* find(std::string_view name) const {
    auto it = tensors_.find(name);
    return it == tensors_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, Tensor, std::less<>>& all() const { return tensors_; }

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace volvox
