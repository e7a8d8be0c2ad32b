#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "cells/ir/weights.h"

// What cells' equations are written with in tests that compute them once more.
namespace volvox::testing_cells {

inline double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// Row j of a matrix times x.
inline double dot(const Tensor& w, std::size_t j, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += static_cast<double>(w.f32()[j * x.size() + k]) * x[k];
  return sum;
}

inline std::vector<double> table_row(const Tensor& table, std::size_t id) {
  const auto width = static_cast<std::size_t>(table.shape[1]);
  return {table.f32() + id * width, table.f32() + (id + 1) * width};
}

}  // namespace volvox::testing_cells
