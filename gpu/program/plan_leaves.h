#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cells/ops/ops.h"
#include "gpu/program/cell_plan.h"

namespace volvox::gpu {

// What the plans of one cell, generic and fused, read from outside it and where they write: states, inputs,
// tables, weights. Each constant is brought to the device once, whoever asks for it. One thread, at load; the
// cell, the weights, the options and the resources must outlive it.
class PlanLeaves {
 public:
  PlanLeaves(const Cell& cell, const Weights& weights, const PlanOptions& options,
             const PlanResources& resources)
      : cell_(cell), weights_(weights), options_(options), resources_(resources) {}

  const Cell& cell() const { return cell_; }
  const PlanOptions& options() const { return options_; }

  // Where element `offset` and those after it lie of what the operator reads, which is_leaf().
  Result<Place> leaf(const Operator& op, std::int64_t offset);
  // The same in the 16 bits of the operands of products: a state's copy, a table's made here. Nothing for
  // what has none, an input.
  Result<std::optional<Place>> narrow_leaf(const Operator& op);
  // Where a scatter's rows go.
  Result<Place> out(const Operator& scatter);
  // A weight of this shape. Errors name it.
  Result<const Tensor*> weight(const std::string& name, const Shape& shape) const;
  // The same as a vector on the device, for all rows.
  Result<Place> constant(const std::string& name, const Shape& shape);
  // The bias of a product or a convolution, as wide as its sums.
  Result<Place> bias_of(const Operator& op);
  // Bytes on the device for as long as the cell lives.
  Result<DeviceAddress> keep(std::span<const std::byte> bytes) { return resources_.keep(bytes); }

  // A value that is no leaf, an argmax's, lies there and may name the rows of a table.
  void lies_at(ValueId value, const Place& place) { made_[value] = place; }

  // Places by number, as programs and tables name them.
  std::uint16_t number_of(const Place& place);
  const std::vector<Place>& places() const { return places_; }

  tl::unexpected<Error> bad(const std::string& what) const {
    return invalid("cell '" + cell_.name + "': " + what);
  }

 private:
  Result<Place> state(const Operator& op, PoolId pool, Place::Kind kind);
  Result<Place> table(const Operator& op);
  Result<Place> ids(ValueId value);
  Result<Place> keep_vector(const std::string& name, std::span<const std::byte> bytes);
  std::int64_t width(ValueId id) const { return elements(cell_.values[id].shape); }

  const Cell& cell_;
  const Weights& weights_;
  const PlanOptions& options_;
  const PlanResources& resources_;
  std::vector<Place> places_;
  std::map<std::string, Place> constants_;
  std::map<ValueId, Place> made_;
};

ElementType element_type(DType dtype);

// Whether the operator only reads memory: gather, gather_all, pull, embed.
bool is_leaf(const Operator& op);

}  // namespace volvox::gpu
