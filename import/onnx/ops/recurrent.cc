#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

constexpr std::int64_t kMaxSteps = 256;  // that are written out one after another

struct Activation {
  std::string name{};
  float alpha = 0, beta = 0;
};

// Weights and states of one direction of a LSTM, GRU or RNN. Gates are rows of the weights, in the cell's
// order.
struct Direction {
  KnownTensor of_x{}, of_h{};      // [gates·hidden, …]
  KnownTensor bias_x{}, bias_h{};  // [gates·hidden]; null: none
  KnownTensor peephole{};          // [3·hidden]: input, output, forget gate
  std::vector<Activation> activations{};
};

// What the three have in common: axes, directions, initial states, and the loop over the steps, which is
// written out, since a cell has no other.
class Recurrence {
 public:
  Recurrence(NodeCall& call, std::int64_t gates, std::size_t functions)
      : call_(call), w_(call.writer), gates_(gates), functions_(functions) {
    batch_first_ = call.integer("layout", 0) != 0;
    Quantity x = call.in(0);
    if (x.rank() != 3) refuse("its input has the shape " + to_string(x.shape) + ", needs three axes");
    x_ = batch_first_ ? w_.transpose(x, {1, 0, 2}) : x;
    steps_ = x_.shape[0];
    batch_ = x_.shape[1];
    const KnownTensor weight = call.known_in(1);
    if (weight->shape.size() != 3 || weight->shape[1] % gates != 0 || weight->shape[2] != x_.shape[2])
      refuse("its weights have the shape " + to_string(weight->shape));
    hidden_ = weight->shape[1] / gates;
    if (steps_ < 1 || steps_ > kMaxSteps || batch_ < 1 || batch_ > kMaxSteps)
      refuse(
          "has " + std::to_string(steps_) + " steps of " + std::to_string(batch_) + " rows: 1 to " +
          std::to_string(kMaxSteps) +
          " are written out; for a sequence of any length leave its axis open, or name it with --sequence");
    const std::string way = call.text("direction", "forward");
    if (way != "forward" && way != "reverse" && way != "bidirectional") refuse("the direction " + way);
    backward_first_ = way == "reverse";
    directions_ = way == "bidirectional" ? 2 : 1;
    if (hidden_ < 1 || weight->shape[0] != static_cast<std::int64_t>(directions_))
      refuse("its weights are not those of its directions");
    lengths_.assign(static_cast<std::size_t>(batch_), steps_);
    if (call.has(4)) lengths_ = call.integers_in(4);
    if (static_cast<std::int64_t>(lengths_.size()) != batch_) refuse("has lengths for another batch");
    for (const std::int64_t length : lengths_) {
      if (length < 1 || length > steps_)
        refuse("a length of " + std::to_string(length) + " of " + std::to_string(steps_) + " steps");
    }
  }

  CellWriter& writer() { return w_; }
  std::int64_t hidden() const { return hidden_; }

  // Rows of `order` in the file's gates, for each gate of the cell.
  Direction direction(std::size_t number, const std::vector<std::int64_t>& order, std::int64_t biases) {
    Direction made;
    w_.name_weights(call_.node.inputs[1]);
    made.of_x = gates_of(plane(1, number), order);
    made.of_h = gates_of(plane(2, number), order);
    if (made.of_h->shape != Shape{gates_ * hidden_, hidden_})
      refuse("its recurrent weights have another shape");
    if (call_.has(3)) {
      const Quantity both = plane(3, number);
      if (both.shape != Shape{2 * biases}) refuse("its bias has the shape " + to_string(both.shape));
      made.bias_x = gates_of(w_.slice(both, 0, 0, biases), order);
      made.bias_h = gates_of(w_.slice(both, 0, biases, 2 * biases), order);
    }
    made.activations = activations(number);
    return made;
  }

  KnownTensor plane_of(std::size_t input, std::size_t number) { return plane(input, number).known; }

  // step(x, h, others) makes the next states, h first. Writes Y, and the last of each state.
  template <class Step>
  void run(std::size_t states, const std::vector<std::size_t>& initial, Step step) {
    std::vector<std::vector<Quantity>> rows(static_cast<std::size_t>(steps_));  // [step]: direction, batch
    std::vector<std::vector<Quantity>> last(states);
    for (auto& row : rows) row.resize(directions_ * lengths_.size());
    for (std::size_t d = 0; d < directions_; ++d) {
      const bool backward = backward_first_ || d == 1;
      for (std::size_t b = 0; b < lengths_.size(); ++b) {
        std::vector<Quantity> state;
        for (std::size_t s = 0; s < states; ++s) state.push_back(initial_state(initial[s], d, b));
        for (std::int64_t t = 0; t < lengths_[b]; ++t) {
          const std::int64_t at = backward ? lengths_[b] - 1 - t : t;
          state = step(d, x_at(at, b), state);
          rows[static_cast<std::size_t>(at)][d * lengths_.size() + b] = state[0];
        }
        for (std::size_t s = 0; s < states; ++s) last[s].push_back(state[s]);
      }
    }
    call_.outputs = {all_steps(rows)};
    for (const auto& state : last) call_.outputs.push_back(last_state(state));
  }

  // The sums of a gate are clipped; a state that is shown is not.
  Quantity activate(const Activation& how, const Quantity& x, bool clipped = true) {
    const float clip = clipped ? call_.real("clip", 0) : 0;
    const Quantity z = clip > 0 ? w_.pointwise("clamp", {x}, {.reals = {-clip, clip}}) : x;
    if (how.name == "Sigmoid") return w_.pointwise("sigmoid", {z});
    if (how.name == "Tanh") return w_.pointwise("tanh", {z});
    if (how.name == "Relu") return w_.pointwise("relu", {z});
    if (how.name == "Softplus") return w_.pointwise("softplus", {z});
    if (how.name == "Softsign") {
      return w_.pointwise("div", {z, w_.add(w_.pointwise("abs", {z}), known_reals({}, {1}))});
    }
    if (how.name == "LeakyRelu") return w_.pointwise("leaky_relu", {z}, {.reals = {how.alpha}});
    if (how.name == "Elu") return w_.pointwise("elu", {z}, {.reals = {how.alpha}});
    if (how.name != "HardSigmoid" && how.name != "Affine") refuse("the activation " + how.name);
    const Quantity line = w_.add(w_.mul(z, known_reals({}, {how.alpha})), known_reals({}, {how.beta}));
    return how.name == "Affine" ? line : w_.pointwise("clamp", {line}, {.reals = {0, 1}});
  }

  Quantity gate(const Quantity& all, std::int64_t number) {
    return w_.slice(all, 0, number * hidden_, (number + 1) * hidden_);
  }

 private:
  Quantity plane(std::size_t input, std::size_t number) {
    const Quantity all = known(as_real(call_.known_in(input)));
    const auto at = static_cast<std::int64_t>(number);
    if (all.rank() < 2 || all.shape[0] <= at)
      refuse("has too few directions in input " + std::to_string(input));
    return w_.reshape(w_.slice(all, 0, at, at + 1), {all.shape.begin() + 1, all.shape.end()});
  }

  KnownTensor gates_of(const Quantity& all, const std::vector<std::int64_t>& order) {
    if (all.shape[0] != static_cast<std::int64_t>(order.size()) * hidden_)
      refuse("its weights have another shape");
    std::vector<Quantity> gates;
    for (const std::int64_t one : order) gates.push_back(gate(all, one));
    return w_.concat(gates, 0).known;
  }

  std::vector<Activation> activations(std::size_t number) const {
    constexpr std::pair<std::string_view, std::pair<float, float>> kUsual[] = {
        {"LeakyRelu", {0.01F, 0}}, {"Elu", {1, 0}}, {"HardSigmoid", {0.2F, 0.5F}}, {"Affine", {1, 0}}};
    const NodeAttribute* named = call_.node.find("activations");
    std::vector<std::string> names;
    if (named != nullptr) names = named->texts;
    if (names.empty()) {
      for (std::size_t d = 0; d < directions_; ++d) {
        for (std::size_t i = 0; i < functions_; ++i)
          names.push_back(functions_ > 1 && i == 0 ? "Sigmoid" : "Tanh");
      }
    }
    if (names.size() != functions_ * directions_)
      refuse("names " + std::to_string(names.size()) + " activations");
    const NodeAttribute *alphas = call_.node.find("activation_alpha"),
                        *betas = call_.node.find("activation_beta");
    // Alphas and betas stand only for those that have one, in their order.
    std::size_t alpha = 0, beta = 0;
    std::vector<Activation> made;
    for (std::size_t i = 0; i < names.size(); ++i) {
      Activation one{.name = names[i]};
      for (const auto& [name, usual] : kUsual) {
        if (name != one.name) continue;
        std::tie(one.alpha, one.beta) = usual;
        if (alphas != nullptr && alpha < alphas->reals.size()) one.alpha = alphas->reals[alpha++];
        const bool has_beta = name == "HardSigmoid" || name == "Affine";
        if (has_beta && betas != nullptr && beta < betas->reals.size()) one.beta = betas->reals[beta++];
      }
      if (i / functions_ == number) made.push_back(std::move(one));
    }
    return made;
  }

  Quantity x_at(std::int64_t step, std::size_t row) {
    const auto at = static_cast<std::int64_t>(row);
    return w_.flat(w_.slice(w_.slice(x_, 0, step, step + 1), 1, at, at + 1));
  }

  Quantity initial_state(std::size_t input, std::size_t direction, std::size_t row) {
    const auto zeros = std::vector<float>(static_cast<std::size_t>(hidden_), 0);
    if (!call_.has(input)) return known_reals({hidden_}, zeros);
    const Quantity all = batch_first_ ? w_.transpose(call_.in(input), {1, 0, 2}) : call_.in(input);
    if (all.shape != Shape{static_cast<std::int64_t>(directions_), batch_, hidden_})
      refuse("an initial state has the shape " + to_string(call_.in(input).shape));
    const auto d = static_cast<std::int64_t>(direction), b = static_cast<std::int64_t>(row);
    return w_.flat(w_.slice(w_.slice(all, 0, d, d + 1), 1, b, b + 1));
  }

  // [steps, directions, batch, hidden], or batch first.
  Quantity all_steps(const std::vector<std::vector<Quantity>>& rows) {
    std::vector<Quantity> steps;
    for (const auto& row : rows) {
      std::vector<Quantity> parts;
      for (const Quantity& h : row) {
        const bool beyond = !h.is_known() && h.id == kNoValue;  // of a shorter sequence
        const auto zeros = std::vector<float>(static_cast<std::size_t>(hidden_), 0);
        parts.push_back(w_.reshape(beyond ? known_reals({hidden_}, zeros) : h, {1, hidden_}));
      }
      steps.push_back(
          w_.reshape(w_.concat(parts, 0), {1, static_cast<std::int64_t>(directions_), batch_, hidden_}));
    }
    const Quantity y = w_.concat(steps, 0);
    return batch_first_ ? w_.transpose(y, {2, 0, 1, 3}) : y;
  }

  Quantity last_state(const std::vector<Quantity>& state) {
    std::vector<Quantity> parts;
    for (const Quantity& one : state) parts.push_back(w_.reshape(one, {1, hidden_}));
    const Quantity all =
        w_.reshape(w_.concat(parts, 0), {static_cast<std::int64_t>(directions_), batch_, hidden_});
    return batch_first_ ? w_.transpose(all, {1, 0, 2}) : all;
  }

  NodeCall& call_;
  CellWriter& w_;
  const std::int64_t gates_;
  const std::size_t functions_;
  bool batch_first_ = false, backward_first_ = false;
  std::size_t directions_ = 1;
  std::int64_t steps_ = 0, batch_ = 0, hidden_ = 0;
  Quantity x_;
  std::vector<std::int64_t> lengths_;
};

KnownTensor sum(CellWriter& w, const KnownTensor& a, const KnownTensor& b) {
  return a == nullptr ? nullptr : w.pointwise("add", {known(a), known(b)}).known;
}

// What x and h give together, as one product: what depends on x alone comes first.
Quantity of_both(CellWriter& w, const Direction& d, const KnownTensor& bias, const Quantity& x,
                 const Quantity& h) {
  return w.product({{d.of_x, x}, {d.of_h, h}}, bias);
}

void lstm(NodeCall& call) {
  Recurrence r(call, 4, 3);
  CellWriter& w = r.writer();
  const std::int64_t hidden = r.hidden();
  const bool coupled = call.integer("input_forget", 0) != 0;
  std::vector<Direction> ways;
  std::vector<KnownTensor> biases;
  for (std::size_t d = 0; d < static_cast<std::size_t>(call.known_in(1)->shape[0]); ++d) {
    ways.push_back(r.direction(d, {0, 2, 3, 1}, 4 * hidden));  // i, o, f, c become i, f, g, o
    biases.push_back(sum(w, ways[d].bias_x, ways[d].bias_h));
    if (call.has(7)) ways[d].peephole = r.plane_of(7, d);
    if (call.has(7) && ways[d].peephole->shape != Shape{3 * hidden})
      refuse("its peepholes have another shape");
  }
  r.run(2, {5, 6}, [&](std::size_t d, const Quantity& x, const std::vector<Quantity>& state) {
    const Direction& way = ways[d];
    const Quantity z = of_both(w, way, biases[d], x, state[0]), &c = state[1];
    // P·c, added to a gate: the peepholes are of the input, output and forget gates.
    const auto with_peephole = [&](std::int64_t gate, std::int64_t number, const Quantity& cell) {
      const Quantity plain = r.gate(z, gate);
      if (way.peephole == nullptr) return plain;
      return w.pointwise("mul_add", {r.gate(known(way.peephole), number), cell, plain});
    };
    const Activation &f = way.activations[0], &g = way.activations[1], &h = way.activations[2];
    const Quantity in = r.activate(f, with_peephole(0, 0, c));
    const Quantity forget = coupled ? w.sub(known_reals({}, {1}), in) : r.activate(f, with_peephole(1, 2, c));
    const Quantity candidate = r.activate(g, r.gate(z, 2));
    const Quantity next = w.pointwise("mul_add", {forget, c, w.mul(in, candidate)});
    const Quantity out = r.activate(f, with_peephole(3, 1, next));
    return std::vector<Quantity>{w.mul(out, r.activate(h, next, false)), next};
  });
}

void gru(NodeCall& call) {
  Recurrence r(call, 3, 2);
  CellWriter& w = r.writer();
  const std::int64_t hidden = r.hidden();
  const bool reset_after = call.integer("linear_before_reset", 0) != 0;
  std::vector<Direction> ways;
  // Of the gates, and of the candidate where the reset comes before its product.
  struct Parts {
    KnownTensor gates{}, gates_bias{}, candidate{}, candidate_bias{};
  };
  std::vector<Parts> parts;
  const auto rows = [&](const KnownTensor& all, std::int64_t begin, std::int64_t end) {
    return all == nullptr ? nullptr : w.slice(known(all), 0, begin * hidden, end * hidden).known;
  };
  for (std::size_t d = 0; d < static_cast<std::size_t>(call.known_in(1)->shape[0]); ++d) {
    const Direction& way = ways.emplace_back(r.direction(d, {0, 1, 2}, 3 * hidden));
    parts.push_back(
        {rows(way.of_h, 0, 2), rows(way.bias_h, 0, 2), rows(way.of_h, 2, 3), rows(way.bias_h, 2, 3)});
  }
  r.run(1, {5}, [&](std::size_t d, const Quantity& x, const std::vector<Quantity>& state) {
    const Direction& way = ways[d];
    const Quantity& h = state[0];
    const Quantity of_x = w.product({{way.of_x, x}}, way.bias_x);
    Quantity update, reset, candidate;
    if (reset_after) {
      const Quantity of_h = w.product({{way.of_h, h}}, way.bias_h);
      update = r.activate(way.activations[0], w.add(r.gate(of_x, 0), r.gate(of_h, 0)));
      reset = r.activate(way.activations[0], w.add(r.gate(of_x, 1), r.gate(of_h, 1)));
      candidate = w.pointwise("mul_add", {reset, r.gate(of_h, 2), r.gate(of_x, 2)});
    } else {
      const Quantity gates =
          w.add(w.slice(of_x, 0, 0, 2 * hidden), w.product({{parts[d].gates, h}}, parts[d].gates_bias));
      update = r.activate(way.activations[0], r.gate(gates, 0));
      reset = r.activate(way.activations[0], r.gate(gates, 1));
      candidate =
          w.add(w.product({{parts[d].candidate, w.mul(reset, h)}}, parts[d].candidate_bias), r.gate(of_x, 2));
    }
    candidate = r.activate(way.activations[1], candidate);
    // (1 − z)·candidate + z·h
    return std::vector<Quantity>{w.pointwise("mul_add", {update, w.sub(h, candidate), candidate})};
  });
}

void rnn(NodeCall& call) {
  Recurrence r(call, 1, 1);
  CellWriter& w = r.writer();
  std::vector<Direction> ways;
  std::vector<KnownTensor> biases;
  for (std::size_t d = 0; d < static_cast<std::size_t>(call.known_in(1)->shape[0]); ++d) {
    ways.push_back(r.direction(d, {0}, r.hidden()));
    biases.push_back(sum(w, ways[d].bias_x, ways[d].bias_h));
  }
  r.run(1, {5}, [&](std::size_t d, const Quantity& x, const std::vector<Quantity>& state) {
    const Direction& way = ways[d];
    return std::vector<Quantity>{r.activate(way.activations[0], of_both(w, way, biases[d], x, state[0]))};
  });
}

constexpr const char* kLimits =
    "known weights and lengths; along the sequence of the model, or up to 256 steps, written out";
constexpr OpRule kRules[] = {{"LSTM", lstm, kLimits}, {"GRU", gru, kLimits}, {"RNN", rnn, kLimits}};

}  // namespace

extern const std::span<const OpRule> kRecurrentRules;
const std::span<const OpRule> kRecurrentRules = kRules;

}  // namespace volvox::onnx_import
