#include "cells/patterns/lstm.h"

#include <algorithm>

#include "cells/ops/ops.h"
#include "cells/patterns/matcher.h"

namespace volvox {
namespace {

constexpr std::int64_t kLstmGates = 4;

class LstmMatcher {
 public:
  explicit LstmMatcher(const Cell& cell) : matcher_(cell) {}

  std::optional<LstmPattern> match() {
    found_.product = matcher_.only_product();
    if (found_.product == nullptr || !match_update() || !matcher_.used_all()) return std::nullopt;
    return found_;
  }

 private:
  const std::vector<Operator>& operators() const { return matcher_.cell().operators; }
  std::int64_t units() const {
    return elements(matcher_.cell().values[found_.product->output].shape) / kLstmGates;
  }

  // value = activation(gate number `gate` of z)
  bool is_gate(ValueId value, const OpDef& activation, std::int64_t gate) {
    const Operator* act = matcher_.made_by(value, activation);
    if (act == nullptr) return false;
    const Operator* slice = matcher_.made_by(act->inputs[0], kSliceOp);
    return slice != nullptr && slice->inputs[0] == found_.product->output && slice->begin == gate * units() &&
           slice->end == (gate + 1) * units();
  }
  bool is_old_state(ValueId value) {
    if (!matcher_.is_gathered(value)) return false;
    found_.c_in = value;
    return true;
  }

  // c' = fma(σ(f), c, σ(i)·tanh(g))
  bool is_cell_state(const Operator& op) {
    matcher_.use(op);
    const Operator* in = matcher_.made_by(op.inputs[2], kMulOp);
    return in != nullptr &&
           Matcher::either_way(
               in->inputs[0], in->inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 0); },
               [&](ValueId v) { return is_gate(v, kTanhOp, 2); }) &&
           Matcher::either_way(
               op.inputs[0], op.inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 1); },
               [&](ValueId v) { return is_old_state(v); });
  }
  // h' = σ(o)·tanh(c')
  bool is_output(const Operator& op, ValueId c) {
    if (!op.is(kMulOp)) return false;
    const auto squashed = [&](ValueId v) {
      const Operator* tanh = matcher_.made_by(v, kTanhOp);
      return tanh != nullptr && tanh->inputs[0] == c;
    };
    return Matcher::either_way(
        op.inputs[0], op.inputs[1], [&](ValueId v) { return is_gate(v, kSigmoidOp, 3); }, squashed);
  }

  bool match_update() {
    const auto& ops = operators();
    const auto c = std::find_if(ops.begin(), ops.end(), [](const Operator& op) { return op.is(kMulAddOp); });
    if (c == ops.end() || !is_cell_state(*c)) return false;
    const auto h =
        std::find_if(ops.begin(), ops.end(), [&](const Operator& op) { return is_output(op, c->output); });
    if (h == ops.end()) return false;
    matcher_.use(*h);
    return match_published(c->output, h->output);
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

std::optional<LstmPattern> match_lstm(const Cell& cell) {
  return LstmMatcher(cell).match();
}

}  // namespace volvox
