#include "import/onnx/batch_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "base/mixing.h"
#include "cells/ir/evaluate.h"
#include "cells/ops/ops.h"
#include "import/onnx/graph_walk.h"

namespace volvox::onnx_import {
namespace {

constexpr std::int64_t kTrialRows = 2;
// Of a cell, beyond which nothing is computed, so that no file keeps an import busy, or its machine full:
// what it multiplies grows with the numbers that the file brings. A graph that multiplies with each of them
// once for each row is far within.
constexpr double kFreeTrialWork = 0x1p26, kTrialWorkPerNumber = 16;
constexpr double kMaxTrialNumbers = 0x1p24;  // of all its values

using Numbers = std::vector<double>;
using NamedNumbers = std::map<std::string, Numbers>;

// Multiplications, or numbers that are read, about.
double work_of(const Cell& cell, const Operator& op) {
  const auto size = [&cell](ValueId id) { return static_cast<double>(elements(cell.values[id].shape)); };
  double read = 0;
  for (const ValueId input : op.inputs) read += size(input);
  if (op.output == kNoValue) return read;
  if (op.is(kProductOp)) return read * size(op.output);
  if (op.is(kConvolutionOp)) return read + op.convolution.flops() / 2;
  if (op.def->name == "max_pool" || op.def->name == "average_pool") {
    const Convolution& c = op.convolution;
    return read + size(op.output) * static_cast<double>(c.kernel_height * c.kernel_width);
  }
  const bool is_matmul = op.def->name == "matmul";
  return read +
         size(op.output) * (is_matmul ? static_cast<double>(cell.values[op.inputs[0]].shape.back()) : 1.0);
}

// Takes what a step has one of for several rows, too, where the operator does the same with each.
class RowsWalk : public GraphWalk {
 public:
  using GraphWalk::GraphWalk;

 private:
  void write(NodeCall& call, const Scope& scope) override {
    const std::string& op = call.node.op;
    const bool slides = op == "Conv" || op == "MaxPool" || op == "AveragePool";
    if (op == "Gather" && call.in(1).dtype == DType::kI32 && call.integer("axis", 0) == 0) {
      look_up(call);
    } else if (slides && call.in(0).rank() > 2 && call.in(0).shape[0] == kTrialRows) {
      slide(call, scope);
    } else {
      GraphWalk::write(call, scope);
      if (op == "Reshape") see_that_rows_are_left(call.in(0).shape, call.outputs.at(0).shape);
    }
  }

  // A graph that was traced with one row can say so in the shapes that it makes: [1, C, -1]. Of two it would
  // put together what belongs to the one and to the other, which nobody has asked for.
  static void see_that_rows_are_left(const Shape& from, const Shape& to) {
    if (from.empty() || from[0] != kTrialRows || to.empty() || to[0] != 1) return;
    const auto first = std::find_if(to.begin(), to.end(), [](std::int64_t extent) { return extent != 1; });
    if (first != to.end() && *first != kTrialRows) refuse("makes one row of several");
  }

  static void look_up(NodeCall& call) {
    const KnownTensor table = call.known_in(0);
    if (!table->is_real() || table->shape.size() != 2) refuse("looks up what is no table of numbers");
    Shape shape = call.in(1).shape;
    shape.push_back(table->shape[1]);
    call.outputs = {call.writer.apply("embed", {call.in(1)}, {}, std::move(shape), {table})};
  }

  void slide(NodeCall& call, const Scope& scope) {
    std::vector<Quantity> made;
    for (std::int64_t row = 0; row < kTrialRows; ++row) {
      std::vector<std::optional<Quantity>> inputs{call.writer.slice(call.in(0), 0, row, row + 1)};
      for (std::size_t i = 1; i < call.inputs(); ++i)
        inputs.push_back(call.has(i) ? std::optional(call.in(i)) : std::nullopt);
      NodeCall one(call.writer, call.node, call.opset, std::move(inputs));
      GraphWalk::write(one, scope);
      made.push_back(one.outputs.at(0));
    }
    call.outputs = {call.writer.concat(made, 0)};
  }
};

// The graph for so many rows, as a cell that reads all inputs as if they were states and writes all outputs
// so: states are as many as they like, and have the evaluator's own reals.
class TrialCell {
 public:
  TrialCell(const OnnxModel& model, const std::vector<StepInput>& inputs,
            const std::set<std::string>& outputs, std::int64_t rows) {
    CellWriter writer;
    GraphWalk::Scope scope;
    for (const StepInput& input : inputs) scope.values[input.name] = read(writer, input, rows);
    RowsWalk walk(writer, model.opset);
    if (Status status = walk.run(*model.graph, scope); !status) refuse(status.error().message);
    for (const std::string& output : outputs) {
      const Quantity* made = scope.find(output);
      if (made == nullptr) refuse("nothing makes it");
      if (made->is_known()) continue;  // of an extent perhaps, but of no row
      const bool real = made->dtype == DType::kF32;
      writer.scatter(output, writer.flat(real ? *made : writer.apply("to_f32", {*made}, {}, made->shape)));
    }
    CellWriter::Written written = writer.finish();
    double most = kFreeTrialWork, work = 0, numbers = 0;
    for (const auto& [name, tensor] : model.graph->constants)
      most += kTrialWorkPerNumber * static_cast<double>(tensor->size());
    for (const Operator& op : written.cell.operators) work += work_of(written.cell, op);
    for (const Value& value : written.cell.values) numbers += static_cast<double>(elements(value.shape));
    if (work > most || numbers > kMaxTrialNumbers) refuse("is too large to try");
    weights_ = std::move(written.weights);
    std::map<std::string, Tensor, std::less<>> tensors;
    for (const CellWriter::Weight& weight : weights_)
      tensors[weight.name] = {DType::kF32, weight.shape, std::as_bytes(std::span(weight.numbers->reals))};
    auto program = CellProgram::make(std::move(written.cell), Weights(std::move(tensors), nullptr));
    if (!program) refuse(program.error().message);
    program_ = std::move(*program);
  }

  NamedNumbers run(const NamedNumbers& given) const {
    NamedNumbers made;
    std::vector<const void*> gathers;
    std::vector<void*> scatters;
    for (const Operator& op : program_.cell().operators) {
      if (op.is(kGatherOp)) gathers.push_back(given.at(op.name).data());
      if (!op.is(kScatterOp)) continue;
      Numbers& numbers = made[op.name];
      numbers.resize(static_cast<std::size_t>(elements(program_.cell().values[op.inputs[0]].shape)));
      scatters.push_back(numbers.data());
    }
    CellRow row;
    row.gathers = gathers;
    row.scatters = scatters;
    CellEvaluator<double>(program_).run(row);
    for (const auto& [name, numbers] : made) {
      if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
        refuse("makes no finite numbers of these");
    }
    return made;
  }

 private:
  static Quantity read(CellWriter& writer, const StepInput& input, std::int64_t rows) {
    if (input.constant) return *input.constant;
    Shape shape = input.shape;
    if (input.batch) shape[*input.batch] = rows;
    const Quantity real = writer.gather(input.name, shape);
    return input.dtype == DType::kF32 ? real : writer.as_id(real);
  }

  std::vector<CellWriter::Weight> weights_;  // whose numbers the program reads
  CellProgram program_;
};

bool are_near(double a, double b, double largest) {
  return std::abs(a - b) <= 1e-6 * largest + 1e-12;
}

double largest_of(const Numbers& numbers) {
  double largest = 0;
  for (const double x : numbers) largest = std::max(largest, std::abs(x));
  return largest;
}

bool are_same(const Numbers& a, const Numbers& b) {
  const double largest = largest_of(b);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [largest](double x, double y) { return are_near(x, y, largest); });
}

// Two rows, put together in stretches of so many numbers.
Numbers put_together(const Numbers& first, const Numbers& second, std::size_t stretch) {
  Numbers both;
  both.reserve(2 * first.size());
  for (std::size_t at = 0; at < first.size(); at += stretch) {
    for (const Numbers* one : {&first, &second}) {
      const auto from = one->begin() + static_cast<std::ptrdiff_t>(at);
      both.insert(both.end(), from, from + static_cast<std::ptrdiff_t>(stretch));
    }
  }
  return both;
}

// Whether they are, along some axis. Which one does not matter, and graphs leave out axes of extent 1.
bool are_together(const Numbers& both, const Numbers& first, const Numbers& second) {
  const std::size_t n = first.size();
  if (second.size() != n || both.size() != 2 * n) return false;
  const double largest = std::max(largest_of(first), largest_of(second));
  for (std::size_t stretch = 1; stretch <= n; ++stretch) {
    if (n % stretch != 0) continue;
    std::size_t at = 0;
    const auto fits = [&](std::size_t i) {
      const Numbers& one = i / stretch % 2 == 0 ? first : second;
      return are_near(both[i], one[i / (2 * stretch) * stretch + i % stretch], largest);
    };
    while (at < both.size() && fits(at)) ++at;
    if (at == both.size()) return true;
  }
  return false;
}

class BatchTrial {
 public:
  BatchTrial(const OnnxModel& model, const std::vector<StepInput>& inputs,
             const std::vector<std::string>& outputs, const StatePairs& states)
      : model_(model), inputs_(inputs), outputs_(outputs.begin(), outputs.end()), states_(states) {
    for (const auto& [output, input] : states) outputs_.insert(output);
  }

  bool mixes() {
    run_both();
    const TrialCell one(model_, inputs_, outputs_, 1);
    if (is_made_of(alone(one))) return false;
    // Several steps at once, of which the later ones follow from the states of the earlier: of a file that
    // says how many rows a state has, and a cell goes through them step by step just so.
    const bool follow = std::none_of(inputs_.begin(), inputs_.end(), [this](const StepInput& input) {
      return input.batch && is_state(input.name);
    });
    return states_.empty() || !follow || !is_made_of(in_turn(one));
  }

 private:
  using Pair = std::array<NamedNumbers, 2>;  // of one row and the other

  bool is_state(const std::string& input) const {
    return std::any_of(states_.begin(), states_.end(),
                       [&input](const auto& state) { return state.second == input; });
  }

  void draw() {
    std::uint64_t state = 0;
    const auto random = [&state] { return scattered(state += kScatterStep); };
    for (const StepInput& input : inputs_) {
      if (input.constant) continue;
      const auto size = static_cast<std::size_t>(elements(input.shape));
      Numbers &first = rows_[0][input.name], &second = rows_[1][input.name];
      for (std::size_t i = 0; i < size; ++i) {
        // From 0 to 1, so that they have logarithms and roots; ids 0 and 1 are in every table.
        const std::uint64_t one = random(), other = random();
        const bool real = input.dtype == DType::kF32;
        first.push_back(real ? static_cast<double>(one >> 11) * 0x1p-53 : static_cast<double>(one % 2));
        second.push_back(real ? static_cast<double>(other >> 11) * 0x1p-53 : 1 - first.back());
      }
      if (!input.batch) rows_[1][input.name] = rows_[0][input.name];
    }
  }

  // The rows in both orders: the larger of two is otherwise the same as one of them.
  void run_both() {
    const TrialCell cell(model_, inputs_, outputs_, kTrialRows);
    draw();  // no sooner: now they are known to be few
    for (const std::size_t first : {0U, 1U}) {
      NamedNumbers given = rows_[first];
      for (const StepInput& input : inputs_) {
        if (!input.batch || input.constant) continue;
        const auto behind = input.shape.begin() + static_cast<std::ptrdiff_t>(*input.batch);
        const auto stretch = static_cast<std::size_t>(elements({behind, input.shape.end()}));
        given[input.name] = put_together(rows_[first][input.name], rows_[1 - first][input.name], stretch);
      }
      both_[first] = cell.run(given);
    }
  }

  // What the two rows make, first the one, then the other.
  std::array<Pair, 2> alone(const TrialCell& cell) const {
    const Pair made{cell.run(rows_[0]), cell.run(rows_[1])};
    return {made, Pair{made[1], made[0]}};
  }
  std::array<Pair, 2> in_turn(const TrialCell& cell) const {
    std::array<Pair, 2> made;
    for (const std::size_t first : {0U, 1U}) {
      made[first][0] = cell.run(rows_[first]);
      NamedNumbers next = rows_[1 - first];
      for (const auto& [output, input] : states_) {
        const auto state = made[first][0].find(output);
        if (state == made[first][0].end()) continue;
        if (state->second.size() != next[input].size()) refuse("is no state");
        next[input] = state->second;
      }
      made[first][1] = cell.run(next);
    }
    return made;
  }

  // Each output of both together is those of the rows, or in either order that of the first or of the last.
  bool is_made_of(const std::array<Pair, 2>& rows) const {
    return std::all_of(both_[0].begin(), both_[0].end(), [&](const auto& output) {
      const std::string& name = output.first;
      bool together = true;
      std::array<bool, 2> picked{true, true};
      for (const std::size_t order : {0U, 1U}) {
        const Numbers &both = both_[order].at(name), &first = numbers_of(rows[order][0], name),
                      &second = numbers_of(rows[order][1], name);
        together = together && are_together(both, first, second);
        picked[0] = picked[0] && are_same(both, first);
        picked[1] = picked[1] && are_same(both, second);
      }
      return together || picked[0] || picked[1];
    });
  }
  static const Numbers& numbers_of(const NamedNumbers& made, const std::string& name) {
    const auto found = made.find(name);
    if (found == made.end()) refuse("is known of one row");
    return found->second;
  }

  const OnnxModel& model_;
  const std::vector<StepInput>& inputs_;
  std::set<std::string> outputs_;
  const StatePairs& states_;
  Pair rows_;
  Pair both_;  // what both rows together make, by which is the first
};

}  // namespace

bool mixes_batch(const OnnxModel& model, const std::vector<StepInput>& inputs,
                 const std::vector<std::string>& outputs, const StatePairs& states) {
  try {
    return BatchTrial(model, inputs, outputs, states).mixes();
  } catch (const Refusal&) {
    return false;
  }
}

}  // namespace volvox::onnx_import
