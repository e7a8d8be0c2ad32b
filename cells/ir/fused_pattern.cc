#include "cells/ir/fused_pattern.h"

#include <algorithm>
#include <utility>

#include "cells/ops/ops.h"

namespace volvox {
namespace {

constexpr std::int64_t kLstmGates = 4;

class Matcher {
 public:
  explicit Matcher(const Cell& cell) : cell_(cell), used_(cell.operators.size(), false) {}

  std::optional<FusedPattern> match() {
    if (!find_product() || !match_operands()) return std::nullopt;
    if (!match_lstm()) {
      if (found_.lstm || !match_plain()) return std::nullopt;
    }
    if (std::find(used_.begin(), used_.end(), false) != used_.end()) return std::nullopt;
    return found_;
  }

 private:
  // The operator that makes `value`, when it is of this kind; it then belongs to the pattern.
  const Operator* made_by(ValueId value, const OpDef& kind) {
    const Operator* op = cell_.producer(value);
    if (op == nullptr || !op->is(kind)) return nullptr;
    use(*op);
    return op;
  }
  void use(const Operator& op) { used_[static_cast<std::size_t>(&op - cell_.operators.data())] = true; }

  bool find_product() {
    for (const Operator& op : cell_.operators) {
      if (!op.is(kProductOp)) continue;
      if (found_.product != nullptr) return false;
      found_.product = &op;
      use(op);
    }
    return found_.product != nullptr && !cell_.values[found_.product->output].ragged;
  }

  bool match_operand(ValueId value) {
    if (!lies_in_memory(cell_, value)) return false;
    const Operator& op = *cell_.producer(value);
    use(op);
    if (op.is(kEmbedOp)) use(*cell_.producer(op.inputs[0]));
    return true;
  }
  bool match_operands() {
    const auto terms = product_terms(*found_.product);
    const ValueId start = product_start(*found_.product);
    if (terms.empty() || terms.size() > kMaxTerms) return false;
    if (start != kNoValue && !match_operand(start)) return false;
    return std::all_of(terms.begin(), terms.end(), [&](ValueId v) { return match_operand(v); });
  }

  // z is published as it is.
  bool match_plain() {
    const ValueId z = found_.product->output;
    for (const Operator& op : cell_.operators) {
      if (op.is(kScatterOp) && op.inputs[0] == z && found_.out_scatter == nullptr) {
        found_.out_scatter = &op;
        use(op);
      } else if (op.is(kPushOp) && op.inputs[0] == z) {
        found_.pushes.push_back({op.index, false});
        use(op);
      }
    }
    return found_.out_scatter != nullptr;
  }

  std::int64_t units() const { return elements(cell_.values[found_.product->output].shape) / kLstmGates; }
  // value = activation(gate number `gate` of z)
  bool is_gate(ValueId value, const OpDef& activation, std::int64_t gate) {
    const Operator* act = made_by(value, activation);
    if (act == nullptr) return false;
    const Operator* slice = made_by(act->inputs[0], kSliceOp);
    return slice != nullptr && slice->inputs[0] == found_.product->output && slice->begin == gate * units() &&
           slice->end == (gate + 1) * units();
  }
  template <class First, class Second>
  static bool either_way(ValueId a, ValueId b, First first, Second second) {
    return (first(a) && second(b)) || (first(b) && second(a));
  }
  bool is_gathered(ValueId value) {
    if (made_by(value, kGatherOp) == nullptr || cell_.values[value].dtype != DType::kF32) return false;
    found_.c_in = value;
    return true;
  }

  // c' = fma(σ(f), c, σ(i)·tanh(g))
  bool is_cell_state(const Operator& op) {
    if (!op.is(kMulAddOp)) return false;
    use(op);
    const Operator* in = made_by(op.inputs[2], kMulOp);
    return in != nullptr &&
           either_way(
               in->inputs[0], in->inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 0); },
               [&](ValueId v) { return is_gate(v, kTanhOp, 2); }) &&
           either_way(
               op.inputs[0], op.inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 1); },
               [&](ValueId v) { return is_gathered(v); });
  }
  // h' = σ(o)·tanh(c')
  bool is_output(const Operator& op, ValueId c) {
    if (!op.is(kMulOp)) return false;
    const auto squashed = [&](ValueId v) {
      const Operator* tanh = made_by(v, kTanhOp);
      return tanh != nullptr && tanh->inputs[0] == c;
    };
    return either_way(
        op.inputs[0], op.inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 3); }, squashed);
  }

  bool match_lstm() {
    const auto& ops = cell_.operators;
    const auto c = std::find_if(ops.begin(), ops.end(), [](const Operator& op) { return op.is(kMulAddOp); });
    if (c == ops.end()) return false;
    found_.lstm = true;
    if (!is_cell_state(*c)) return false;
    const auto h =
        std::find_if(ops.begin(), ops.end(), [&](const Operator& op) { return is_output(op, c->output); });
    if (h == ops.end()) return false;
    use(*h);
    return match_published(c->output, h->output);
  }
  bool match_published(ValueId c, ValueId h) {
    for (const Operator& op : cell_.operators) {
      if (!op.is(kScatterOp) && !op.is(kPushOp)) continue;
      const bool is_c = op.inputs[0] == c;
      if (!is_c && op.inputs[0] != h) return false;
      if (op.is(kPushOp)) {
        found_.pushes.push_back({op.index, is_c});
      } else {
        const Operator*& scatter = is_c ? found_.c_scatter : found_.out_scatter;
        if (scatter != nullptr) return false;
        scatter = &op;
      }
      use(op);
    }
    return found_.c_scatter != nullptr && found_.out_scatter != nullptr;
  }

  const Cell& cell_;
  FusedPattern found_;
  std::vector<bool> used_;
};

}  // namespace

std::optional<FusedPattern> match_fused(const Cell& cell) {
  return Matcher(cell).match();
}

bool lies_in_memory(const Cell& cell, ValueId value) {
  const Operator* op = cell.producer(value);
  if (op == nullptr || cell.values[value].dtype != DType::kF32) return false;
  if (op->is(kGatherOp) || op->is(kPullOp)) return true;
  if (!op->is(kEmbedOp)) return false;
  const Operator* id = cell.producer(op->inputs.at(0));
  return id != nullptr && id->is(kPullOp);
}

ValueId product_start(const Operator& product) {
  return product.has_start && !product.has_bias ? product.inputs.back() : kNoValue;
}

std::vector<ValueId> product_terms(const Operator& product) {
  std::vector<ValueId> terms = product.inputs;
  if (product_start(product) != kNoValue) terms.pop_back();
  return terms;
}

}  // namespace volvox
