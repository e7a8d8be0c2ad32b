#include "cells/model/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "cells/model/best_path.h"
#include "cells/ops/ops.h"

namespace volvox {
namespace {

// Bytes of one row as the reference keeps it: f32 becomes double. A multiple of 8, so that rows are aligned.
std::size_t kept_bytes(DType dtype, const Shape& shape) {
  const auto count = static_cast<std::size_t>(elements(shape));
  const std::size_t bytes = count * (dtype == DType::kF32 ? sizeof(double) : size_bytes(dtype));
  return (bytes + 7) / 8 * 8;
}

std::vector<std::byte> initial_row(DType dtype, const Shape& shape, double initial) {
  std::vector<std::byte> row(kept_bytes(dtype, shape));
  const auto fill = [&](auto number) {
    for (std::int64_t i = 0; i < elements(shape); ++i) {
      std::memcpy(row.data() + static_cast<std::size_t>(i) * sizeof(number), &number, sizeof(number));
    }
  };
  if (dtype == DType::kF32) fill(initial);
  if (dtype == DType::kI32) fill(static_cast<std::int32_t>(initial));
  if (dtype == DType::kU64) fill(static_cast<std::uint64_t>(initial));
  return row;
}

double initial_of(const PoolSpec& pool, const std::string& kind) {
  for (const StateKind& state : pool.kinds) {
    if (state.name == kind) return state.initial;
  }
  return 0.0;
}

std::size_t state_number(const std::vector<StateKind>& states, const std::string& kind) {
  const auto it =
      std::find_if(states.begin(), states.end(), [&](const StateKind& state) { return state.name == kind; });
  return static_cast<std::size_t>(it - states.begin());
}

// Room for the results of a request of these lengths; or what is left of them in its answer.
void size_outputs(const Model& model, const Lengths& lengths, bool answered,
                  std::vector<ReferenceOutput>& outputs) {
  outputs.resize(model.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = model.outputs[i];
    const std::uint32_t steps = lengths[spec.sequence];
    const std::size_t rows = answered ? spec.answered_rows(steps) : spec.every ? steps : 1;
    const std::size_t count = static_cast<std::size_t>(elements(spec.shape)) * rows;
    ReferenceOutput& output = outputs[i];
    if (spec.dtype == DType::kF32) {
      output.reals.resize(count);
    } else {
      output.bytes.resize(count * size_bytes(spec.dtype));
    }
  }
}

void* row_of(ReferenceOutput& output, const OutputSpec& spec, std::size_t row) {
  const std::size_t at = row * static_cast<std::size_t>(elements(spec.shape));
  if (spec.dtype == DType::kF32) return output.reals.data() + at;
  return output.bytes.data() + at * size_bytes(spec.dtype);
}

std::size_t input_row_bytes(const InputSpec& spec) {
  return static_cast<std::size_t>(elements(spec.shape)) * size_bytes(spec.dtype);
}

}  // namespace

double ReferenceMath::exp(double x) {
  return std::exp(x);
}

double ReferenceMath::log(double x) {
  return std::log(x);
}

double ReferenceMath::erf(double x) {
  return std::erf(x);
}

double ReferenceMath::sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double ReferenceMath::tanh(double x) {
  return std::tanh(x);
}

// Eight sums side by side, which a compiler keeps in vector registers.
template <class Weight>
double ReferenceMath::chain(double start, const Weight* w, const double* x, std::size_t n) {
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
template double ReferenceMath::chain(double, const float*, const double*, std::size_t);
template double ReferenceMath::chain(double, const double*, const double*, std::size_t);

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

// One request: the states of all its cells. Nothing is reused, so nothing can be reused too early.
struct Reference::Run {
  std::span<const std::span<const std::byte>> inputs;
  ReferenceOrder order;
  std::vector<std::vector<std::size_t>> offsets;  // by type and state of its cell: within a node's states
  std::vector<std::vector<std::byte>> states;     // by node
  std::vector<std::vector<std::byte>> initial;    // by type and gather operator, see first_initial
  std::vector<std::size_t> first_initial;         // by type
  std::vector<ReferenceOutput> outputs;
};

Status Reference::check_inputs(std::span<const std::span<const std::byte>> inputs,
                               const Extent& extent) const {
  if (inputs.size() != model_->inputs.size()) {
    return invalid("model '" + model_->name + "' has " + std::to_string(model_->inputs.size()) +
                   " inputs, given are " + std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& spec = model_->inputs[i];
    const std::size_t row = input_row_bytes(spec);
    const std::uint32_t rows = extent.lengths[spec.sequence];
    if (inputs[i].size() != row * rows) {
      return invalid("input '" + spec.name + "' has " + std::to_string(inputs[i].size()) +
                     " bytes; there must be a row for each " + std::string(model_->unfolding->row_name()) +
                     ": " + std::to_string(rows) + " of " + std::to_string(row));
    }
    if (spec.dtype != DType::kI32 || spec.vocabulary == 0) continue;
    for (std::size_t at = 0; at < inputs[i].size(); at += sizeof(std::int32_t)) {
      std::int32_t id = 0;
      std::memcpy(&id, inputs[i].data() + at, sizeof(id));
      const bool unread = at / row < extent.read.size() && !extent.read[at / row];
      if (unread || (id >= 0 && id < spec.vocabulary)) continue;
      return invalid("input '" + spec.name + "': " + std::to_string(id) + " is outside the vocabulary of " +
                     std::to_string(spec.vocabulary));
    }
  }
  return {};
}

void Reference::begin(Run& run) const {
  for (std::size_t type = 0; type < programs_.size(); ++type) {
    const Cell& cell = programs_[type]->cell();
    std::vector<std::size_t>& offsets = run.offsets.emplace_back(1, 0);
    for (const StateKind& state : cell.states)
      offsets.push_back(offsets.back() + kept_bytes(state.dtype, state.shape));
    run.first_initial.push_back(run.initial.size());
    for (const Operator& op : cell.operators) {
      if (!op.is(kGatherOp)) continue;
      const Value& value = cell.values[op.output];
      const PoolSpec& pool = model_->pools[model_->types[type].gather_pools[op.index]];
      run.initial.push_back(initial_row(value.dtype, value.shape, initial_of(pool, op.name)));
    }
  }
  run.states.resize(run.order.nodes.size());
}

// Where the node keeps the state that the operator reads.
const std::byte* Reference::state_of(const Run& run, std::uint32_t node, const Operator& op) const {
  const CellTypeId type = run.order.nodes[node].type;
  const std::size_t state = state_number(programs_[type]->cell().states, op.name);
  return run.states[node].data() + run.offsets[type][state];
}

void Reference::bind_states(const Run& run, std::uint32_t number, CellRow& row,
                            std::vector<const void*>& gathers, std::vector<const void*>& ragged) const {
  const ReferenceOrder::Node& node = run.order.nodes[number];
  const auto list = std::span(run.order.list).subspan(node.first_listed, node.listed);
  for (const Operator& op : programs_[node.type]->cell().operators) {
    if (op.is(kGatherOp)) {
      const std::uint32_t from = node.gathers[op.index];
      const auto& initial = run.initial[run.first_initial[node.type] + gathers.size()];
      gathers.push_back(from == ReferenceOrder::kInitial ? initial.data() : state_of(run, from, op));
    }
    if (!op.is(kGatherAllOp)) continue;
    for (const std::uint32_t from : list) ragged.push_back(state_of(run, from, op));
    row.edges = node.listed;
  }
}

// What it reads of the request, and what it answers.
void Reference::bind_request(Run& run, std::uint32_t number, CellRow& row) const {
  const ReferenceOrder::Node& node = run.order.nodes[number];
  for (const Operator& op : programs_[node.type]->cell().operators) {
    if (op.is(kPullOp)) {
      const std::uint8_t input = node.pulls[op.index];
      row.pulls[op.index] = run.inputs[input].data() + node.row * input_row_bytes(model_->inputs[input]);
    }
    if (!op.is(kPushOp)) continue;
    const LanePush& push = node.pushes[op.index];
    if (push.output == LanePush::kNowhere || (!push.every && !node.last)) continue;
    row.pushes[op.index] =
        row_of(run.outputs[push.output], model_->outputs[push.output], push.every ? node.answer_row : 0);
  }
}

// Whether the sequence ends with this step, which has been computed.
bool Reference::stops(const Run& run, const ReferenceOrder::Node& node) const {
  const SequenceSpec& sequence = model_->sequences[node.sequence];
  if (sequence.kind != SequenceSpec::Kind::kStopped) return false;
  const bool writes = std::any_of(node.pushes.begin(), node.pushes.end(),
                                  [&](const LanePush& push) { return push.output == sequence.stop.output; });
  if (!writes) return false;
  std::int32_t value = 0;
  const std::byte* said = run.outputs[sequence.stop.output].bytes.data() + node.answer_row * sizeof value;
  std::memcpy(&value, said, sizeof value);
  return value == sequence.stop.value;
}

void Reference::compute(Run& run, std::uint32_t number) {
  const CellTypeId type = run.order.nodes[number].type;
  run.states[number].resize(run.offsets[type].back());
  std::vector<const void*> gathers, ragged;
  std::vector<void*> scatters;
  CellRow row;
  bind_states(run, number, row, gathers, ragged);
  bind_request(run, number, row);
  for (std::size_t state = 0; state + 1 < run.offsets[type].size(); ++state)
    scatters.push_back(run.states[number].data() + run.offsets[type][state]);
  row.gathers = gathers;
  row.ragged = ragged;
  row.scatters = scatters;
  evaluators_[type].run(row);
}

Result<std::vector<ReferenceOutput>> Reference::run(std::span<const std::span<const std::byte>> inputs,
                                                    const Structure& structure) {
  const auto extent = model_->unfolding->check(structure, *model_);
  if (!extent) return tl::unexpected(extent.error());
  if (Status sound = check_inputs(inputs, *extent); !sound) return tl::unexpected(sound.error());
  Run run;
  run.inputs = inputs;
  run.order = model_->unfolding->reference_order(structure, *model_);
  Lengths lengths = extent->lengths;
  size_outputs(*model_, lengths, false, run.outputs);
  begin(run);
  for (std::uint32_t number = 0; number < run.order.nodes.size(); ++number) {
    const ReferenceOrder::Node& node = run.order.nodes[number];
    if (node.row >= lengths[node.sequence]) continue;
    compute(run, number);
    if (stops(run, node)) lengths[node.sequence] = node.row + 1;
  }
  size_outputs(*model_, lengths, true, run.outputs);
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const OutputSpec& spec = model_->outputs[i];
    if (!spec.path) continue;
    const auto said = best_path(run.outputs[i].bytes, static_cast<std::size_t>(spec.shape[1]));
    const auto bytes = std::as_bytes(std::span(said));
    run.outputs[i].bytes.assign(bytes.begin(), bytes.end());
  }
  return std::move(run.outputs);
}

Result<std::vector<ReferenceOutput>> Reference::run(std::span<const std::int32_t> tokens,
                                                    const Structure& structure) {
  const std::array<std::span<const std::byte>, 1> inputs{std::as_bytes(tokens)};
  return this->run(inputs, structure);
}

Result<std::vector<ReferenceOutput>> Reference::run(std::span<const std::span<const std::byte>> inputs) {
  const std::size_t rows = inputs.empty() ? 1 : inputs[0].size() / input_row_bytes(model_->inputs[0]);
  return run(inputs, ChainStructure{static_cast<std::uint32_t>(rows)});
}

Result<std::vector<ReferenceOutput>> Reference::run(std::span<const std::int32_t> tokens) {
  return run(tokens, ChainStructure{static_cast<std::uint32_t>(tokens.size())});
}

}  // namespace volvox
