#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "repository/random.h"

namespace volvox::testing_cells {

// Makes weights in memory, tensor by tensor.
class WeightsMaker {
 public:
  WeightsMaker& add(const std::string& name, Shape shape, const std::function<float(std::size_t)>& element) {
    std::vector<float>& data = data_->emplace_back(static_cast<std::size_t>(elements(shape)));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = element(i);
    tensors_[name] = {DType::kF32, std::move(shape), std::as_bytes(std::span(data))};
    return *this;
  }
  WeightsMaker& add_random(const std::string& name, Shape shape, Random& random) {
    return add(name, std::move(shape), [&](std::size_t) { return random.uniform(0.5F); });
  }
  Weights weights() const { return Weights(tensors_, data_); }

 private:
  std::shared_ptr<std::vector<std::vector<float>>> data_ =
      std::make_shared<std::vector<std::vector<float>>>();
  std::map<std::string, Tensor, std::less<>> tensors_;
};

inline Weights lstm_weights(std::int64_t input, std::int64_t hidden, std::int64_t vocabulary = 10) {
  Random random(42);
  WeightsMaker maker;
  maker.add_random("lstm.embedding", {vocabulary, input}, random)
      .add_random("lstm.weight_ih", {4 * hidden, input}, random)
      .add_random("lstm.weight_hh", {4 * hidden, hidden}, random)
      .add_random("lstm.bias", {4 * hidden}, random);
  return maker.weights();
}

// A folder of its own that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "volvox-cells-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace volvox::testing_cells
