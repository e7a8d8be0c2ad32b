#include "cells/patterns/matcher.h"

#include <algorithm>

#include "cells/ir/product_terms.h"
#include "cells/ops/ops.h"

namespace volvox {

bool lies_in_memory(const Cell& cell, ValueId value) {
  const Operator* op = cell.producer(value);
  if (op == nullptr || cell.values[value].dtype != DType::kF32) return false;
  if (op->is(kGatherOp) || op->is(kPullOp)) return true;
  if (!op->is(kEmbedOp)) return false;
  const Operator* id = cell.producer(op->inputs.at(0));
  return id != nullptr && id->is(kPullOp);
}

ValueId product_start(const Operator& product) {
  return product.has_start ? product.inputs.back() : kNoValue;
}

std::vector<ValueId> product_terms(const Operator& product) {
  const auto count = static_cast<std::ptrdiff_t>(product_term_count(product));
  return {product.inputs.begin(), product.inputs.begin() + count};
}

bool Matcher::used_all() const {
  return std::find(used_.begin(), used_.end(), false) == used_.end();
}

const Operator* Matcher::made_by(ValueId value, const OpDef& kind) {
  const Operator* op = cell_.producer(value);
  if (op == nullptr || !op->is(kind) || cell_.spreads(*op)) return nullptr;
  use(*op);
  return op;
}

const Operator* Matcher::only_product() {
  const Operator* product = nullptr;
  for (const Operator& op : cell_.operators) {
    if (!op.is(kProductOp)) continue;
    if (product != nullptr) return nullptr;
    product = &op;
  }
  if (product == nullptr || cell_.values[product->output].ragged) return nullptr;
  use(*product);
  const auto terms = product_terms(*product);
  const ValueId start = product_start(*product);
  if (terms.empty()) return nullptr;
  if (start != kNoValue && !match_operand(start)) return nullptr;
  const bool all = std::all_of(terms.begin(), terms.end(), [this](ValueId v) { return match_operand(v); });
  return all ? product : nullptr;
}

bool Matcher::match_operand(ValueId value) {
  if (!lies_in_memory(cell_, value)) return false;
  const Operator& op = *cell_.producer(value);
  use(op);
  if (op.is(kEmbedOp)) use(*cell_.producer(op.inputs[0]));
  return true;
}

bool Matcher::is_part(ValueId value, ValueId whole, std::size_t part, std::size_t parts) {
  const Operator* slice = cell_.producer(value);
  if (slice == nullptr || !slice->is(kSliceOp) || slice->inputs[0] != whole) return false;
  const std::int64_t width = elements(cell_.values[whole].shape);
  const auto at = static_cast<std::int64_t>(part), count = static_cast<std::int64_t>(parts);
  if (width % count != 0 || slice->begin != at * (width / count) || slice->end != (at + 1) * (width / count))
    return false;
  use(*slice);
  return true;
}

bool Matcher::is_gathered(ValueId value) {
  return made_by(value, kGatherOp) != nullptr && cell_.values[value].dtype == DType::kF32;
}

}  // namespace volvox
