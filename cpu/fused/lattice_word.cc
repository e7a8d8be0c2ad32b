#include "cells/ops/ops.h"
#include "cells/patterns/matcher.h"
#include "cpu/fused/fused_kernel.h"

namespace volvox::cpu {
namespace {

// The word of a Lattice LSTM (Zhang and Yang, 2018, §3.2): z = product(x0, x1 …) of the gates i, f, g;
// c' = fma(σ(f), c, σ(i)·tanh(g)), which is all that it keeps.
class LatticeWordMatcher {
 public:
  explicit LatticeWordMatcher(const Cell& cell) : matcher_(cell) {}

  std::optional<FusedPlan> match() {
    product_ = matcher_.only_product();
    if (product_ == nullptr) return std::nullopt;
    const Operator* kept = nullptr;
    for (const Operator& op : matcher_.cell().operators) {
      if (!op.is(kScatterOp)) continue;
      if (kept != nullptr) return std::nullopt;
      kept = &op;
    }
    if (kept == nullptr || !is_cell_state(kept->inputs[0])) return std::nullopt;
    matcher_.use(*kept);
    FusedPlan plan;
    plan.product = product_;
    plan.gates = 3;
    plan.inputs = {{c_in_}};
    plan.outputs = {kept};
    for (const Operator& op : matcher_.cell().operators) {
      if (!op.is(kPushOp) || op.inputs[0] != kept->inputs[0]) continue;
      plan.pushes.push_back({op.index, 0});
      matcher_.use(op);
    }
    return matcher_.used_all() ? std::optional(std::move(plan)) : std::nullopt;
  }

 private:
  bool is_gate(ValueId value, const OpDef& activation, std::size_t gate) {
    const Operator* act = matcher_.made_by(value, activation);
    return act != nullptr && matcher_.is_part(act->inputs[0], product_->output, gate, 3);
  }
  bool is_cell_state(ValueId value) {
    const Operator* sum = matcher_.made_by(value, kMulAddOp);
    if (sum == nullptr) return false;
    const Operator* in = matcher_.made_by(sum->inputs[2], kMulOp);
    const auto is_old_state = [this](ValueId v) {
      c_in_ = v;
      return matcher_.is_gathered(v);
    };
    return in != nullptr &&
           Matcher::either_way(
               sum->inputs[0], sum->inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 1); },
               is_old_state) &&
           Matcher::either_way(
               in->inputs[0], in->inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 0); },
               [&](ValueId v) { return is_gate(v, kTanhOp, 2); });
  }

  Matcher matcher_;
  const Operator* product_ = nullptr;
  ValueId c_in_ = kNoValue;
};

std::optional<FusedPlan> match(const Cell& cell) {
  return LatticeWordMatcher(cell).match();
}

}  // namespace

extern const FusedKernel kLatticeWordFused;
const FusedKernel kLatticeWordFused = {"lattice_word", match};

}  // namespace volvox::cpu
