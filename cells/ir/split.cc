#include "cells/ir/split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cells/ir/infer.h"
#include "cells/ir/product_terms.h"
#include "cells/ops/ops.h"

namespace volvox {
namespace {

bool is_sink(const Operator& op) {
  return op.is(kScatterOp) || op.is(kPushOp);
}

// What costs nothing to have: each part that uses it has its own.
bool is_free(const Operator& op, const GivenGathers& given) {
  return op.is(kPullOp) || op.is(kConstantOp) || (op.is(kGatherOp) && given[op.index]);
}

// One part under construction: operators copied from the whole cell, with values numbered anew.
class Part {
 public:
  Part(const Cell& whole, const GivenGathers& given, std::string name)
      : whole_(whole), given_(given), renamed_(whole.values.size(), kNoValue) {
    cell_.name = std::move(name);
  }

  // The value of this part that stands for `value` of the whole; what is free is copied where it is
  // needed.
  ValueId use(ValueId value) {
    if (renamed_[value] == kNoValue) {
      const Operator* producer = whole_.producer(value);
      if (producer != nullptr && is_free(*producer, given_)) define(*producer);
    }
    return renamed_[value];
  }

  // Appends an operator of the whole cell.
  void define(Operator op) {
    for (ValueId& input : op.inputs) input = use(input);
    append(std::move(op));
  }

  // Appends an operator whose inputs are values of this part and whose output stands for one of the whole.
  void append(Operator op) {
    if (!is_sink(op)) op.output = renamed_[op.output] = copy_of(op.output);
    cell_.operators.push_back(std::move(op));
  }

  Result<Cell> finish() {
    if (Status status = infer(cell_); !status) return tl::unexpected(status.error());
    return std::move(cell_);
  }

  // Where initial values of states are found.
  void keep_states(const std::vector<StateKind>& states) { cell_.states = states; }

 private:
  ValueId copy_of(ValueId value) {
    cell_.values.push_back(whole_.values[value]);
    return static_cast<ValueId>(cell_.values.size() - 1);
  }

  const Cell& whole_;
  const GivenGathers& given_;
  std::vector<ValueId> renamed_;
  Cell cell_;
};

class Splitter {
 public:
  Splitter(const Cell& cell, const GivenGathers& given)
      : cell_(cell),
        given_(given),
        known_(cell.values.size(), false),
        eager_(cell.values.size(), false),
        leading_(cell.operators.size(), 0) {}

  Result<SplitCell> run();

 private:
  void find_known();
  void find_leading();
  void mark_eager(ValueId value);
  std::vector<ValueId> carried() const;
  void split_product(const Operator& op, std::size_t leading, Part& eager, Part& core) const;

  bool is_free(ValueId value) const { return volvox::is_free(*cell_.producer(value), given_); }

  const Cell& cell_;
  const GivenGathers& given_;
  std::vector<bool> known_;           // value depends only on what is given
  std::vector<bool> eager_;           // value is computed by the eager part
  std::vector<std::size_t> leading_;  // for each operator: how many terms of the product run eagerly
};

void Splitter::find_known() {
  for (const Operator& op : cell_.operators) {
    if (is_sink(op) || op.is(kGatherAllOp) || (op.is(kGatherOp) && !given_[op.index])) continue;
    known_[op.output] = std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return known_[v]; });
  }
}

// Products of known values are what is worth a step of its own; what they read runs with them.
void Splitter::find_leading() {
  for (std::size_t i = 0; i < cell_.operators.size(); ++i) {
    const Operator& op = cell_.operators[i];
    if (!op.is(kProductOp) || (op.has_start && !known_[op.inputs.back()])) continue;
    while (leading_[i] < product_term_count(op) && known_[op.inputs[leading_[i]]]) ++leading_[i];
    for (std::size_t term = 0; term < leading_[i]; ++term) mark_eager(op.inputs[term]);
    if (leading_[i] == 0) continue;
    if (op.has_start) mark_eager(op.inputs.back());
    if (leading_[i] == product_term_count(op)) mark_eager(op.output);
  }
  // What follows from eager values alone runs with them.
  for (const Operator& op : cell_.operators) {
    if (is_sink(op) || op.inputs.empty() || !known_[op.output]) continue;
    const bool ready = std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
      return eager_[v] || cell_.producer(v)->is(kConstantOp);
    });
    const bool computed =
        std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return !is_free(v); });
    if (ready && computed) eager_[op.output] = true;
  }
}

void Splitter::mark_eager(ValueId value) {
  if (eager_[value]) return;
  eager_[value] = true;
  for (ValueId input : cell_.producer(value)->inputs) mark_eager(input);
}

// Eager values that the core reads, in ascending order; what is free it has itself.
std::vector<ValueId> Splitter::carried() const {
  std::vector<bool> read(cell_.values.size(), false);
  for (std::size_t i = 0; i < cell_.operators.size(); ++i) {
    const Operator& op = cell_.operators[i];
    if (!is_sink(op) && eager_[op.output]) continue;
    if (leading_[i] > 0) read[op.output] = true;  // the middle of its chain
    for (std::size_t input = leading_[i]; input < op.inputs.size(); ++input) {
      const ValueId value = op.inputs[input];
      const bool start = leading_[i] > 0 && op.has_start && input + 1 == op.inputs.size();
      if (eager_[value] && !start && !is_free(value)) read[value] = true;
    }
  }
  std::vector<ValueId> values;
  for (ValueId value = 0; value < read.size(); ++value) {
    if (read[value]) values.push_back(value);
  }
  return values;
}

// Eager: start + the leading terms. Core: the other terms, starting from the carried value of the same
// number.
void Splitter::split_product(const Operator& op, std::size_t leading, Part& eager, Part& core) const {
  Operator front = op, back = op;
  const auto at = static_cast<std::ptrdiff_t>(leading),
             end = static_cast<std::ptrdiff_t>(product_term_count(op));
  front.inputs.erase(front.inputs.begin() + at, front.inputs.begin() + end);
  front.weights.erase(front.weights.begin() + at, front.weights.begin() + end);
  eager.define(std::move(front));
  back.weights.assign(op.weights.begin() + at, op.weights.begin() + end);
  back.inputs.clear();
  for (auto term = at; term < end; ++term)
    back.inputs.push_back(core.use(op.inputs[static_cast<std::size_t>(term)]));
  back.inputs.push_back(core.use(op.output));
  back.has_bias = false;
  back.has_start = true;
  core.append(std::move(back));
}

Result<SplitCell> Splitter::run() {
  find_known();
  find_leading();
  const std::vector<ValueId> carry = carried();
  if (cell_.gathers == 0 && !cell_.gathers_all) return SplitCell{std::nullopt, cell_, 0};
  if (carry.empty() || cell_.gathers >= kMaxGathers) return SplitCell{std::nullopt, cell_, 0};

  Part eager(cell_, given_, cell_.name + ".eager"), core(cell_, given_, cell_.name);
  core.keep_states(cell_.states);
  const auto state_name = [&](ValueId value) { return cell_.name + "." + std::to_string(value); };
  for (ValueId value : carry) {
    core.append({.def = &kGatherOp, .name = state_name(value), .index = cell_.gathers, .output = value});
  }
  for (std::size_t i = 0; i < cell_.operators.size(); ++i) {
    const Operator& op = cell_.operators[i];
    if (volvox::is_free(op, given_)) continue;  // copied where it is used
    if (!is_sink(op) && eager_[op.output]) {
      eager.define(op);
    } else if (leading_[i] > 0) {
      split_product(op, leading_[i], eager, core);
    } else {
      core.define(op);
    }
  }
  for (ValueId value : carry) {
    eager.append({.def = &kScatterOp, .inputs = {eager.use(value)}, .name = state_name(value)});
  }
  Result<Cell> first = eager.finish();
  if (!first) return tl::unexpected(first.error());
  Result<Cell> second = core.finish();
  if (!second) return tl::unexpected(second.error());
  return SplitCell{std::move(*first), std::move(*second), cell_.gathers};
}

}  // namespace

Result<SplitCell> split_cell(const Cell& cell, const GivenGathers& given) {
  return Splitter(cell, given).run();
}

}  // namespace volvox
