#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cells/cell.h"
#include "cells/weights.h"
#include "device/device.h"

namespace volvox::gpu {

// Random float tensors by name.
class RandomWeights {
 public:
  explicit RandomWeights(std::uint32_t seed = 1) : random_(seed) {}
  RandomWeights& add(const std::string& name, Shape shape, float scale = 0.3F);
  Weights weights() const { return {tensors_, values_}; }

 private:
  std::mt19937 random_;
  std::shared_ptr<std::map<std::string, std::vector<float>>> values_ =
      std::make_shared<std::map<std::string, std::vector<float>>>();
  std::map<std::string, Tensor, std::less<>> tensors_;
};

inline constexpr std::int64_t kVocabulary = 50;

// One batch of nodes of a cell with states h and c, a token as input and one result, with random states,
// predecessors and tokens: on a device, and in double precision by the interpreter of cells/.
class CellBatch {
 public:
  CellBatch(const Cell& cell, const Weights& weights, std::uint32_t rows);

  // The results, row by row. `padded` is the size of the task; 0: as many as rows. Row by row: each row in a
  // task of its own.
  std::vector<float> on_device(Device& device, std::uint32_t padded = 0, bool row_by_row = false);
  std::vector<double> in_reference() const;
  std::size_t width() const { return width_; }

 private:
  static constexpr std::uint32_t kSources = 40;  // slots 2 … 41

  void add_row(std::uint32_t r);
  std::uint32_t any_source() { return kReservedSlots + static_cast<std::uint32_t>(random_() % kSources); }
  Cell maker() const;
  void make_states(Device& device, Queue& queue);
  DeviceAddress stage(Device& device, const void* bytes, std::size_t size);
  static void run(Queue& queue, const Task& task);
  const double* state(const Operator& op, std::uint32_t slot) const;

  Cell cell_;
  Weights weights_;
  std::mt19937 random_;
  std::size_t width_;
  std::vector<float> h_, c_;
  std::vector<double> h_real_, c_real_;
  std::vector<std::int32_t> tokens_;
  std::vector<RowBinding> bindings_;
  std::vector<std::uint32_t> edges_;
  std::vector<std::unique_ptr<InputPages>> pages_;
};

// The largest difference, over the largest magnitude or one.
double distance(const std::vector<float>& got, const std::vector<double>& want);

// A cell of random operators, with h, c and a result of width `hidden`.
Cell random_cell(std::uint32_t seed, std::int64_t hidden, const Weights& weights);
// What it may use.
Weights random_cell_weights(std::int64_t hidden);

}  // namespace volvox::gpu
