#include "cells/patterns/lstm.h"

#include "cells/ops/ops.h"
#include "cells/patterns/matcher.h"

namespace volvox {
namespace {

class LstmMatcher {
 public:
  LstmMatcher(const Cell& cell, std::size_t forget_gates) : matcher_(cell) {
    found_.c_in.resize(forget_gates, kNoValue);
  }

  std::optional<LstmPattern> match() {
    found_.product = matcher_.only_product();
    if (found_.product == nullptr || !match_update() || !matcher_.used_all()) return std::nullopt;
    return found_;
  }

 private:
  const std::vector<Operator>& operators() const { return matcher_.cell().operators; }
  std::size_t forget_gates() const { return found_.c_in.size(); }

  // value = activation(gate number `gate` of z)
  bool is_gate(ValueId value, const OpDef& activation, std::size_t gate) {
    const Operator* act = matcher_.made_by(value, activation);
    return act != nullptr &&
           matcher_.is_part(act->inputs[0], found_.product->output, gate, forget_gates() + 3);
  }
  bool is_old_state(ValueId value, std::size_t number) {
    if (!matcher_.is_gathered(value)) return false;
    found_.c_in[number] = value;
    return true;
  }

  // fma(σ(f), c, …) of the forget gates from `number` on, and last σ(i)·tanh(g)
  bool is_cell_state(ValueId value, std::size_t number) {
    if (number == forget_gates()) {
      const Operator* in = matcher_.made_by(value, kMulOp);
      return in != nullptr &&
             Matcher::either_way(
                 in->inputs[0], in->inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 0); },
                 [&](ValueId v) { return is_gate(v, kTanhOp, number + 1); });
    }
    const Operator* sum = matcher_.made_by(value, kMulAddOp);
    return sum != nullptr && is_cell_state(sum->inputs[2], number + 1) &&
           Matcher::either_way(
               sum->inputs[0], sum->inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, number + 1); },
               [&](ValueId v) { return is_old_state(v, number); });
  }
  // h' = σ(o)·tanh(c')
  bool is_output(const Operator& op, ValueId& c) {
    if (!op.is(kMulOp)) return false;
    const auto squashed = [&](ValueId v) {
      const Operator* tanh = matcher_.made_by(v, kTanhOp);
      if (tanh != nullptr) c = tanh->inputs[0];
      return tanh != nullptr;
    };
    return Matcher::either_way(
        op.inputs[0], op.inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, forget_gates() + 2); },
        squashed);
  }

  bool match_update() {
    for (const Operator& op : operators()) {
      ValueId c = kNoValue;
      if (!is_output(op, c)) continue;
      matcher_.use(op);
      return is_cell_state(c, 0) && match_published(c, op.output);
    }
    return false;
  }
  bool match_published(ValueId c, ValueId h) {
    for (const Operator& op : operators()) {
      if (!op.is(kScatterOp) && !op.is(kPushOp)) continue;
      const bool is_c = op.inputs[0] == c;
      if (!is_c && op.inputs[0] != h) return false;
      if (op.is(kPushOp)) {
        found_.pushes.push_back({op.index, is_c});
      } else {
        const Operator*& scatter = is_c ? found_.c_scatter : found_.h_scatter;
        if (scatter != nullptr) return false;
        scatter = &op;
      }
      matcher_.use(op);
    }
    return found_.c_scatter != nullptr && found_.h_scatter != nullptr;
  }

  Matcher matcher_;
  LstmPattern found_;
};

}  // namespace

std::optional<LstmPattern> match_lstm(const Cell& cell, std::size_t forget_gates) {
  return LstmMatcher(cell, forget_gates).match();
}

}  // namespace volvox
