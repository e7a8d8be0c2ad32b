#include "cells/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "cells/reference_parts.h"

namespace volvox {
namespace {

const LaneEdge* find_edge(const LaneSpec& lane, const Operator& op) {
  for (const LaneEdge& edge : lane.edges) {
    if (op.kind == OpKind::kGatherAll ? edge.all : !edge.all && edge.gather == op.index) return &edge;
  }
  return nullptr;
}

// The step of edge.from that step t reads; negative: none.
std::int64_t source_step(const LaneEdge& edge, std::int64_t t, std::int64_t length) {
  return edge.offset + edge.stride * t + (edge.from_end ? length - 1 : 0);
}

}  // namespace

double ReferenceMath::sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double ReferenceMath::tanh(double x) {
  return std::tanh(x);
}

// Eight sums side by side, which a compiler keeps in vector registers.
double ReferenceMath::chain(double start, const float* w, const double* x, std::size_t n) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t k = 0;
  for (; k + kSums <= n; k += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += static_cast<double>(w[k + j]) * x[k + j];
  }
  for (; k < n; ++k) sums[k % kSums] += static_cast<double>(w[k]) * x[k];
  for (double sum : sums) start += sum;
  return start;
}

Result<Reference> Reference::make(std::shared_ptr<const Model> model) {
  if (Status status = validate(*model); !status) return tl::unexpected(status.error());
  Reference reference;
  for (const CellTypeSpec& type : model->types) {
    Result<CellProgram> program = CellProgram::make(type.cell, model->weights, model->name);
    if (!program) return tl::unexpected(program.error());
    reference.programs_.push_back(std::make_unique<CellProgram>(std::move(*program)));
    reference.evaluators_.emplace_back(*reference.programs_.back());
  }
  reference.model_ = std::move(model);
  return reference;
}

Result<std::uint32_t> Reference::check_inputs(std::span<const std::span<const std::byte>> inputs,
                                              const std::vector<bool>& read) const {
  if (inputs.size() != model_->inputs.size()) {
    return invalid("model '" + model_->name + "' has " + std::to_string(model_->inputs.size()) +
                   " inputs, given are " + std::to_string(inputs.size()));
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& spec = model_->inputs[i];
    const std::size_t row = static_cast<std::size_t>(elements(spec.shape)) * size_bytes(spec.dtype);
    const std::size_t rows = inputs[i].size() / row;
    if (rows == 0 || rows * row != inputs[i].size() || (i > 0 && rows != length) ||
        rows > model_->max_length) {
      return invalid(
          "input '" + spec.name + "' has " + std::to_string(inputs[i].size()) + " bytes: no " +
          (i == 0 ? std::string("1 to ") + std::to_string(model_->max_length) : std::to_string(length)) +
          " rows of " + std::to_string(row));
    }
    length = rows;
    if (spec.dtype != DType::kI32 || spec.vocabulary == 0) continue;
    for (std::size_t at = 0; at < inputs[i].size(); at += sizeof(std::int32_t)) {
      std::int32_t id = 0;
      std::memcpy(&id, inputs[i].data() + at, sizeof(id));
      const bool unread = at / row < read.size() && !read[at / row];
      if (unread || (id >= 0 && id < spec.vocabulary)) continue;
      return invalid("input '" + spec.name + "': " + std::to_string(id) + " is outside the vocabulary of " +
                     std::to_string(spec.vocabulary));
    }
  }
  return static_cast<std::uint32_t>(length);
}

void Reference::begin(Run& run, std::uint32_t length) const {
  for (const LaneSpec& spec : model_->plan.lanes) {
    Lane lane{.type = spec.type, .length = length};
    const Cell& cell = programs_[spec.type]->cell();
    for (const StateKind& state : cell.states) {
      lane.row_bytes.push_back(kept_bytes(state.dtype, state.shape));
      lane.steps.emplace_back(lane.row_bytes.back() * length);
    }
    for (const Operator& op : cell.operators) {
      if (op.kind != OpKind::kGather) continue;
      const Value& value = cell.values[op.output];
      lane.initial.push_back(initial_row(value.dtype, value.shape, initial_of(*model_, op.name)));
    }
    run.lanes.push_back(std::move(lane));
  }
  run.outputs = make_outputs(*model_, length);
}

bool Reference::ready(const Run& run, std::size_t lane) const {
  for (const LaneEdge& edge : model_->plan.lanes[lane].edges) {
    const Lane& from = run.lanes[edge.from];
    if (edge.all && from.done < from.length) return false;
    if (edge.all) continue;
    const std::int64_t s = source_step(edge, run.lanes[lane].done, from.length);
    if (s >= from.done) return false;
    if (s >= 0 || edge.before_first == LaneEdge::kNone) continue;
    if (run.lanes[edge.before_first].done < run.lanes[edge.before_first].length) return false;
  }
  return true;
}

// `number` counts the gathers of the cell.
const void* Reference::find_state(const Run& run, std::size_t lane, const Operator& op,
                                  std::size_t number) const {
  const LaneEdge* edge = find_edge(model_->plan.lanes[lane], op);
  if (edge == nullptr) return run.lanes[lane].initial[number].data();
  std::int64_t s = source_step(*edge, run.lanes[lane].done, run.lanes[edge->from].length);
  std::size_t from = edge->from;
  if (s < 0 && edge->before_first == LaneEdge::kNone) return run.lanes[lane].initial[number].data();
  if (s < 0) {
    from = edge->before_first;
    s = run.lanes[from].length - 1;
  }
  const std::size_t state = state_number(programs_[run.lanes[from].type]->cell().states, op.name);
  return run.lanes[from].steps[state].data() + static_cast<std::size_t>(s) * run.lanes[from].row_bytes[state];
}

void Reference::bind_pushes(Run& run, std::size_t lane, CellRow& row) const {
  const LaneSpec& spec = model_->plan.lanes[lane];
  const std::size_t t = run.lanes[lane].done;
  for (std::size_t push = 0; push < kMaxPushes; ++push) {
    if (spec.pushes[push].output == LanePush::kNowhere) continue;
    if (!spec.pushes[push].every && t + 1 < run.lanes[lane].length) continue;
    const std::uint8_t output = spec.pushes[push].output;
    row.pushes[push] = row_of(run.outputs[output], model_->outputs[output], spec.pushes[push].every ? t : 0);
  }
}

void Reference::bind_pulls(const Run& run, std::size_t lane, CellRow& row) const {
  const LaneSpec& spec = model_->plan.lanes[lane];
  for (std::size_t pull = 0; pull < programs_[spec.type]->cell().pulls; ++pull) {
    const InputSpec& input = model_->inputs[spec.pulls[pull]];
    const std::size_t bytes = static_cast<std::size_t>(elements(input.shape)) * size_bytes(input.dtype);
    row.pulls[pull] = run.inputs[spec.pulls[pull]].data() + run.lanes[lane].done * bytes;
  }
}

// Appends every step of the lane that the list of predecessors names.
void Reference::find_list(const Run& run, std::size_t lane, const Operator& op,
                          std::vector<const void*>& list) const {
  const LaneEdge* edge = find_edge(model_->plan.lanes[lane], op);
  if (edge == nullptr) return;
  const Lane& from = run.lanes[edge->from];
  const std::size_t state = state_number(programs_[from.type]->cell().states, op.name);
  for (std::uint32_t e = 0; e < from.length; ++e) {
    list.push_back(from.steps[state].data() + e * from.row_bytes[state]);
  }
}

void Reference::step(Run& run, std::size_t number) {
  Lane& lane = run.lanes[number];
  std::vector<const void*> gathers, ragged;
  std::vector<void*> scatters;
  std::size_t lists = 0;
  for (const Operator& op : programs_[lane.type]->cell().operators) {
    if (op.kind == OpKind::kGather) gathers.push_back(find_state(run, number, op, gathers.size()));
    if (op.kind != OpKind::kGatherAll) continue;
    find_list(run, number, op, ragged);
    ++lists;
  }
  for (std::size_t state = 0; state < lane.steps.size(); ++state) {
    scatters.push_back(lane.steps[state].data() + lane.done * lane.row_bytes[state]);
  }
  CellRow row;
  bind_pulls(run, number, row);
  bind_pushes(run, number, row);
  row.edges = lists == 0 ? 0 : static_cast<std::uint32_t>(ragged.size() / lists);
  row.gathers = gathers;
  row.ragged = ragged;
  row.scatters = scatters;
  evaluators_[lane.type].run(row);
  ++lane.done;
}

Result<std::vector<ReferenceOutput>> Reference::run_chain(
    std::span<const std::span<const std::byte>> inputs) {
  const Result<std::uint32_t> length = check_inputs(inputs, {});
  if (!length) return tl::unexpected(length.error());
  Run run{.inputs = inputs};
  begin(run, *length);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < run.lanes.size(); ++lane) {
      while (run.lanes[lane].done < run.lanes[lane].length && ready(run, lane)) {
        step(run, lane);
        moved = true;
      }
    }
  }
  return std::move(run.outputs);
}

Result<std::vector<ReferenceOutput>> Reference::run(std::span<const std::span<const std::byte>> inputs,
                                                    std::span<const std::int32_t> parents) {
  if (model_->unfolding == Unfolding::kTree) return run_tree(inputs, parents);
  if (!parents.empty()) return invalid("model '" + model_->name + "' takes no trees");
  return run_chain(inputs);
}

Result<std::vector<ReferenceOutput>> Reference::run(std::span<const std::int32_t> tokens,
                                                    std::span<const std::int32_t> parents) {
  const std::array<std::span<const std::byte>, 1> inputs{std::as_bytes(tokens)};
  return this->run(inputs, parents);
}

}  // namespace volvox
