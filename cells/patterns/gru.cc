#include "cells/patterns/gru.h"

#include "cells/ops/ops.h"
#include "cells/patterns/matcher.h"

namespace volvox {
namespace {

constexpr std::size_t kGruGates = 3;

class GruMatcher {
 public:
  explicit GruMatcher(const Cell& cell) : matcher_(cell) {}

  std::optional<GruPattern> match() {
    found_.product = matcher_.only_product();
    if (found_.product == nullptr || !match_update() || !matcher_.used_all()) return std::nullopt;
    return found_;
  }

 private:
  const std::vector<Operator>& operators() const { return matcher_.cell().operators; }
  std::int64_t units() const {
    return elements(matcher_.cell().values[found_.product->output].shape) /
           static_cast<std::int64_t>(kGruGates);
  }

  bool is_g(ValueId value, std::size_t gate) {
    return matcher_.is_part(value, found_.product->output, gate, kGruGates);
  }
  // In memory as it is, or cut out of what is.
  bool is_x(ValueId value, std::size_t gate) {
    if (value == found_.product->output) return false;
    GruPattern::Part part{value, 0};
    const Operator* producer = matcher_.cell().producer(value);
    if (producer != nullptr && producer->is(kSliceOp)) {
      if (producer->inputs[0] == found_.product->output) return false;
      part = {producer->inputs[0], static_cast<std::size_t>(producer->begin)};
    }
    if (elements(matcher_.cell().values[value].shape) != units() || !matcher_.match_operand(part.value))
      return false;
    if (part.value != value) matcher_.use(*producer);
    found_.x[gate] = part;
    return true;
  }

  // σ(x + g)
  bool is_gate(ValueId value, std::size_t gate) {
    const Operator* act = matcher_.made_by(value, kSigmoidOp);
    const Operator* sum = act == nullptr ? nullptr : matcher_.made_by(act->inputs[0], kAddOp);
    return sum != nullptr && Matcher::either_way(
                                 sum->inputs[0], sum->inputs[1], [&](ValueId v) { return is_x(v, gate); },
                                 [&](ValueId v) { return is_g(v, gate); });
  }
  // tanh(fma(r, g_n, x_n))
  bool is_new(ValueId value) {
    const Operator* act = matcher_.made_by(value, kTanhOp);
    const Operator* sum = act == nullptr ? nullptr : matcher_.made_by(act->inputs[0], kMulAddOp);
    return sum != nullptr && is_x(sum->inputs[2], 2) &&
           Matcher::either_way(
               sum->inputs[0], sum->inputs[1], [&](ValueId v) { return is_gate(v, 0); },
               [&](ValueId v) { return is_g(v, 2); });
  }
  // h − n
  bool is_difference(ValueId value, ValueId n) {
    const Operator* difference = matcher_.made_by(value, kSubOp);
    if (difference == nullptr || difference->inputs[1] != n) return false;
    found_.h_in = difference->inputs[0];
    return matcher_.is_gathered(found_.h_in);
  }

  // The state that is scattered says which value is h'.
  bool match_update() {
    for (const Operator& op : operators()) {
      if (!op.is(kScatterOp)) continue;
      if (found_.h_scatter != nullptr) return false;
      found_.h_scatter = &op;
      matcher_.use(op);
    }
    if (found_.h_scatter == nullptr) return false;
    const ValueId h = found_.h_scatter->inputs[0];
    const Operator* next = matcher_.made_by(h, kMulAddOp);
    if (next == nullptr) return false;
    const ValueId n = next->inputs[2];
    const bool update =
        is_new(n) && Matcher::either_way(
                         next->inputs[0], next->inputs[1], [&](ValueId v) { return is_gate(v, 1); },
                         [&](ValueId v) { return is_difference(v, n); });
    if (!update) return false;
    for (const Operator& op : operators()) {
      if (!op.is(kPushOp) || op.inputs[0] != h) continue;
      found_.pushes.push_back(op.index);
      matcher_.use(op);
    }
    return true;
  }

  Matcher matcher_;
  GruPattern found_;
};

}  // namespace

std::optional<GruPattern> match_gru(const Cell& cell) {
  return GruMatcher(cell).match();
}

}  // namespace volvox
