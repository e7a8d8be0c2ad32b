#include "cpu/cells/packing.h"

#include <vector>

#include "cells/patterns/matcher.h"
#include "cpu/cells/row_source.h"

namespace volvox::cpu {
namespace {

// Null where the operator has none.
Result<const float*> find_bias(const Cell& cell, const Operator& op, std::int64_t outputs,
                               const Weights& weights) {
  if (!op.has_bias) return nullptr;
  const auto tensor = find_weight(cell, op.weights.back(), {outputs}, weights);
  if (!tensor) return tl::unexpected(tensor.error());
  return (*tensor)->f32();
}

}  // namespace

Result<PackedProduct> pack_product(const Cell& cell, const Operator& op, const Weights& weights, Gates gates,
                                   std::size_t lanes) {
  const std::int64_t outputs = cell.values.at(op.output).shape.back();
  const std::vector<ValueId> inputs = product_terms(op);
  const std::size_t wanted = inputs.size() + (op.has_bias ? 1 : 0);
  if (op.weights.size() != wanted) {
    return invalid("cell '" + cell.name + "': a product of " + std::to_string(inputs.size()) +
                   " operands needs " + std::to_string(wanted) + " weights");
  }
  std::vector<WeightTerm> terms;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t width = cell.values.at(inputs[i]).shape.back();
    auto tensor = find_weight(cell, op.weights[i], {outputs, width}, weights);
    if (!tensor) return tl::unexpected(tensor.error());
    terms.push_back({(*tensor)->f32(), static_cast<std::size_t>(width)});
  }
  const auto bias = find_bias(cell, op, outputs, weights);
  if (!bias) return tl::unexpected(bias.error());
  return PackedProduct::make(terms, *bias, static_cast<std::size_t>(outputs), gates, lanes);
}

Result<PackedConvolution> pack_convolution(const Cell& cell, const Operator& op, const Weights& weights,
                                           std::size_t lanes) {
  const Convolution& c = op.convolution;
  const auto tensor = find_weight(cell, op.weights.front(), c.weight_shape(), weights);
  if (!tensor) return tl::unexpected(tensor.error());
  const auto bias = find_bias(cell, op, c.kernels, weights);
  if (!bias) return tl::unexpected(bias.error());
  PackedConvolution packed{.mirror = find_mirror(c, (*tensor)->f32(), op.has_bias)};
  const auto add = [&](const float* kernels, std::int64_t first, std::int64_t count,
                       std::int64_t width) -> Status {
    if (count == 0) return {};
    const WeightTerm term{kernels + first * width, static_cast<std::size_t>(width)};
    auto product = PackedProduct::make({&term, 1}, *bias == nullptr ? nullptr : *bias + first,
                                       static_cast<std::size_t>(count), kPlain, lanes);
    if (!product) return tl::unexpected(product.error());
    packed.products.push_back(std::move(*product));
    return {};
  };
  if (const Mirror& mirror = packed.mirror) {
    const std::vector<float> kernels = fold_kernels(mirror, c.window(), (*tensor)->f32(), c.kernels);
    const std::int64_t width = mirror.folded(c.window());
    const std::int64_t even = mirror.even, odd = c.kernels - even;
    for (const auto& [first, count] : {std::pair(std::int64_t{0}, even), std::pair(even, odd)}) {
      if (Status ok = add(kernels.data(), first, mirror.multiplied(count), width); !ok)
        return tl::unexpected(ok.error());
    }
    return packed;
  }
  std::vector<float> kernels(static_cast<std::size_t>(c.kernels * c.window()));
  for (std::int64_t k = 0; k < c.kernels; ++k)
    copy_kernel(c, (*tensor)->f32() + k * c.window(), kernels.data() + k * c.window());
  for (std::int64_t kernel = 0; kernel < c.kernels; kernel += c.group_kernels()) {
    if (Status ok = add(kernels.data(), kernel, c.group_kernels(), c.window()); !ok)
      return tl::unexpected(ok.error());
  }
  return packed;
}

}  // namespace volvox::cpu
