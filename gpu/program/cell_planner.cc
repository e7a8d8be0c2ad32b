#include "gpu/program/cell_planner.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace volvox::gpu {
namespace {

using Step = CellPlan::Step;

constexpr std::uint64_t kAlign = 256;
constexpr std::uint32_t kStrideElements = 8;

std::uint32_t padded(std::int64_t elements_wide) {
  const auto wide = static_cast<std::uint32_t>(elements_wide);
  return (wide + kStrideElements - 1) / kStrideElements * kStrideElements;
}

// The instruction that computes an element of the operator's value; operators without one are not for GPUs,
// but for those that the planner itself takes apart.
struct Lowering {
  const OpDef* op;
  Instruction::Code code;
};
constexpr Lowering kLowerings[] = {
    {&kAddOp, Instruction::Code::kAdd},       {&kMulOp, Instruction::Code::kMul},
    {&kMulAddOp, Instruction::Code::kMulAdd}, {&kSigmoidOp, Instruction::Code::kSigmoid},
    {&kTanhOp, Instruction::Code::kTanh},     {&kHashOp, Instruction::Code::kHash}};

std::optional<Instruction::Code> code_of(const Operator& op) {
  for (const Lowering& lowering : kLowerings) {
    if (op.is(*lowering.op)) return lowering.code;
  }
  return std::nullopt;
}

// Which of those that make one row of all predecessors' rows can be done.
bool folds(const Operator& op) {
  return op.is(kSegmentSumOp) || op.is(kHashAllOp);
}

// Whether a library leaves sums in a buffer, to which the bias or the start is added later.
bool has_sums(const Operator& op) {
  return op.is(kProductOp) || op.is(kConvolutionOp);
}

bool is_product_input(const Operator& op, std::size_t i) {
  return i + 1 < op.inputs.size() || op.has_bias || !op.has_start;
}

}  // namespace

Result<CellPlan> CellPlanner::run() {
  for (const Operator& op : cell_.operators) {
    if (Status ok = apply(op); !ok) return tl::unexpected(ok.error());
  }
  if (Status ok = close_stage(); !ok) return tl::unexpected(ok.error());
  plan_.scratch_bytes = std::max<std::uint64_t>(plan_.scratch_bytes, kAlign);
  return std::move(plan_);
}

Status CellPlanner::apply(const Operator& op) {
  if (op.is(kProductOp)) return product(op);
  if (op.is(kConvolutionOp)) return convolution(op);
  if (op.is(kArgmaxOp)) return argmax(op);
  if (cell_.spreads(op)) {
    return leaves_.bad("the operator '" + std::string(op.def->name) + "' needs inputs of one shape on a GPU");
  }
  if (op.is(kScatterOp)) {
    if (value(op.inputs[0]).ragged) return leaves_.bad("a ragged value cannot be published");
    auto place = leaves_.out(op);
    if (!place) return tl::unexpected(place.error());
    return add_root(op.inputs[0], *place);
  }
  if (op.is(kPushOp)) {
    if (value(op.inputs[0]).ragged) return leaves_.bad("a ragged value cannot be published");
    Place place;
    place.kind = Place::Kind::kResult;
    place.type = element_type(value(op.inputs[0]).dtype);
    place.index = static_cast<std::uint8_t>(op.index);
    return add_root(op.inputs[0], place);
  }
  if (is_leaf(op)) {  // read where it is wanted, but what is missing is said now
    auto place = leaves_.leaf(op, 0);
    return place ? Status{} : Status(tl::unexpected(place.error()));
  }
  if (!op.is(kSliceOp) && !op.is(kConcatOp) && !folds(op) && !code_of(op)) {
    return leaves_.bad("the operator '" + std::string(op.def->name) + "' is not supported on a GPU");
  }
  const bool real = value(op.output).dtype == DType::kF32;
  return options_.plain && real ? materialise(op.output) : Status{};
}

// Gathers the operand, closes the stage that does, and leaves the sums in a buffer.
Status CellPlanner::product(const Operator& op) {
  ProductPlan made;
  made.outputs = static_cast<std::uint32_t>(width(op.output));
  made.ragged = value(op.output).ragged;
  std::vector<const Tensor*> terms;
  for (std::size_t i = 0; i < op.inputs.size() && is_product_input(op, i); ++i) {
    const Shape shape{width(op.output), width(op.inputs[i])};
    auto tensor = leaves_.weight(op.weights[i], shape);
    if (!tensor) return tl::unexpected(tensor.error());
    terms.push_back(*tensor);
    made.width += static_cast<std::uint32_t>(shape[1]);
  }
  made.stride_k = padded(made.width);
  made.stride_out = padded(made.outputs);
  const Place x = buffer(made.stride_k, operand_type(options_.precision), made.ragged);
  Place part = x;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (Status ok = add_root(op.inputs[i], part); !ok) return ok;
    part.offset += static_cast<std::uint32_t>(width(op.inputs[i]));
  }
  if (Status ok = close_stage(); !ok) return ok;
  const Place out = buffer(made.stride_out, ElementType::kF32, made.ragged);
  auto w = leaves_.keep(pack_weights(terms, made.outputs, made.stride_k, options_.precision));
  if (!w) return tl::unexpected(w.error());
  made.x = x.base;
  made.out = out.base;
  made.w = *w;
  plan_.flops_per_row += 2.0 * made.width * made.outputs;
  plan_.steps.push_back({Step::Kind::kProduct, static_cast<std::uint32_t>(plan_.products.size())});
  plan_.products.push_back(made);
  sums_[op.output] = out;
  return options_.plain ? materialise(op.output) : Status{};
}

// Leaves the operand in a buffer, and the sums in another one.
Status CellPlanner::convolution(const Operator& op) {
  const Convolution& c = op.convolution;
  if (c.groups != 1 || c.dilation != std::array<std::int64_t, 2>{1, 1}) {
    return leaves_.bad("a convolution with groups or gaps is not supported on a GPU");
  }
  if (Status ok = materialise(op.inputs[0]); !ok) return ok;
  if (Status ok = close_stage(); !ok) return ok;
  auto kernels = leaves_.constant(op.weights.front(), c.weight_shape());
  if (!kernels) return tl::unexpected(kernels.error());
  const Place out = buffer(c.outputs(), ElementType::kF32, false);
  plan_.flops_per_row += c.flops();
  plan_.steps.push_back({Step::Kind::kConvolution, static_cast<std::uint32_t>(plan_.convolutions.size())});
  plan_.convolutions.push_back({c, buffers_.at(op.inputs[0]).place, out, kernels->base});
  sums_[op.output] = out;
  return options_.plain ? materialise(op.output) : Status{};
}

// Leaves the operand in a buffer, and the index in another one. The sums of a product are read as they lie,
// and the bias is added on the way: a decoder's are as wide as its vocabulary.
Status CellPlanner::argmax(const Operator& op) {
  const ValueId x = op.inputs[0];
  const Operator& from = *cell_.producer(x);
  ArgmaxPlan made;
  made.width = static_cast<std::uint32_t>(width(x));
  if (has_sums(from) && (from.has_bias || !from.has_start) && buffers_.count(x) == 0) {
    made.x = sums_.at(x);
    if (from.has_bias) {
      auto bias = leaves_.bias_of(from);
      if (!bias) return tl::unexpected(bias.error());
      made.bias = bias->base;
    }
  } else {
    if (Status ok = materialise(x); !ok) return ok;
    if (Status ok = close_stage(); !ok) return ok;
    made.x = buffers_.at(x).place;
  }
  const Place out = made.out = buffer(1, ElementType::kI32, false);
  plan_.steps.push_back({Step::Kind::kArgmax, static_cast<std::uint32_t>(plan_.argmaxes.size())});
  plan_.argmaxes.push_back(made);
  buffers_[op.output] = {out, plan_.stages.size()};
  leaves_.lies_at(op.output, out);
  return {};
}

Place CellPlanner::buffer(std::int64_t wide, ElementType type, bool ragged) {
  Place place;
  place.type = type;
  place.ragged = ragged;
  place.stride_bytes = padded(wide) * element_bytes(type);
  place.base = plan_.scratch_bytes;
  const std::uint64_t rows = ragged ? options_.compile.max_edges : options_.compile.max_batch;
  plan_.scratch_bytes += (place.stride_bytes * rows + kAlign - 1) / kAlign * kAlign;
  return place;
}

Status CellPlanner::materialise(ValueId id) {
  if (buffers_.count(id) != 0) return {};
  const Place place = buffer(width(id), element_type(value(id).dtype), value(id).ragged);
  if (Status ok = add_root(id, place); !ok) return ok;
  buffers_[id] = {place, plan_.stages.size() + 1};
  return {};
}

// Sees to it that everything that the value needs lies in memory before the stage that reads it.
Status CellPlanner::prepare(ValueId id, std::int64_t offset, std::int64_t wide) {
  const auto known = buffers_.find(id);
  if (known != buffers_.end()) {
    const bool unfinished = known->second.stage == plan_.stages.size() + 1;
    return unfinished ? close_stage() : Status{};
  }
  const Operator& op = *cell_.producer(id);
  if (is_leaf(op)) return {};
  if (op.is(kSliceOp)) return prepare(op.inputs[0], offset + op.begin, wide);
  if (has_sums(op)) {
    return op.has_start && !op.has_bias ? prepare(op.inputs.back(), offset, wide) : Status{};
  }
  if (folds(op)) {
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (Status ok = prepare(op.inputs[i], 0, width(op.inputs[i])); !ok) return ok;
    }
    if (is_leaf(*cell_.producer(op.inputs[0]))) return {};
    if (Status ok = materialise(op.inputs[0]); !ok) return ok;
    return prepare(op.inputs[0], 0, width(op.inputs[0]));
  }
  if (op.is(kConcatOp)) return prepare_concat(op, offset, wide);
  for (ValueId input : op.inputs) {
    if (Status ok = prepare(input, offset, wide); !ok) return ok;
  }
  return {};
}

// Inside one part it is that part; across a seam it needs a buffer.
Status CellPlanner::prepare_concat(const Operator& op, std::int64_t offset, std::int64_t wide) {
  std::int64_t begin = 0;
  for (ValueId part : op.inputs) {
    const std::int64_t end = begin + width(part);
    if (offset >= begin && offset + wide <= end) return prepare(part, offset - begin, wide);
    begin = end;
  }
  if (Status ok = materialise(op.output); !ok) return ok;
  return close_stage();
}

Status CellPlanner::add_root(ValueId id, const Place& to) {
  const Operator& op = *cell_.producer(id);
  if (op.is(kConcatOp) && buffers_.count(id) == 0) {  // piece by piece: there is no seam
    Place piece = to;
    for (ValueId part : op.inputs) {
      if (Status ok = add_root(part, piece); !ok) return ok;
      piece.offset += static_cast<std::uint32_t>(width(part));
    }
    return {};
  }
  if (Status ok = prepare(id, 0, width(id)); !ok) return ok;
  roots_.push_back({id, to});
  return {};
}

Status CellPlanner::close_stage() {
  if (roots_.empty()) return {};
  std::vector<Root> roots;
  std::swap(roots, roots_);
  StagePlan stage;
  stage.first_program = static_cast<std::uint32_t>(plan_.programs.size());
  const auto same = [this](const Root& a, const Root& b) {
    return width(a.value) == width(b.value) && value(a.value).ragged == value(b.value).ragged &&
           a.to.ragged == b.to.ragged;
  };
  while (!roots.empty()) {
    const auto others = std::stable_partition(
        roots.begin(), roots.end(), [&, first = roots.front()](const Root& r) { return same(first, r); });
    if (Status ok = write_programs({roots.begin(), others}); !ok) return ok;
    roots.erase(roots.begin(), others);
  }
  stage.program_count = static_cast<std::uint32_t>(plan_.programs.size()) - stage.first_program;
  for (std::uint32_t p = stage.first_program; p < plan_.programs.size(); ++p) {
    stage.widest = std::max(stage.widest, plan_.programs[p].width);
    stage.ragged = stage.ragged || plan_.programs[p].ragged != 0;
    stage.registers = std::max(stage.registers, registers_of(plan_.programs[p]));
  }
  plan_.steps.push_back({Step::Kind::kStage, static_cast<std::uint32_t>(plan_.stages.size())});
  plan_.stages.push_back(stage);
  return {};
}

// One program for roots of the same width, or several where one would need too many registers.
Status CellPlanner::write_programs(std::span<const Root> roots) {
  ProgramWriter writer;
  for (const Root& root : roots) {
    auto number = evaluate(writer, root.value, 0, width(root.value));
    if (!number) return tl::unexpected(number.error());
    writer.store(leaves_.number_of(root.to), *number);
  }
  const auto instructions = writer.finish();
  if (!instructions) {
    if (roots.size() == 1) return leaves_.bad("an expression has too many values at once");
    if (Status ok = write_programs(roots.first(roots.size() / 2)); !ok) return ok;
    return write_programs(roots.subspan(roots.size() / 2));
  }
  Program program;
  program.first = static_cast<std::uint32_t>(plan_.instructions.size());
  program.count = static_cast<std::uint32_t>(instructions->size());
  program.width = static_cast<std::uint32_t>(width(roots[0].value));
  program.ragged = roots[0].to.ragged ? 1 : 0;
  plan_.instructions.insert(plan_.instructions.end(), instructions->begin(), instructions->end());
  plan_.programs.push_back(program);
  return {};
}

std::uint32_t CellPlanner::registers_of(const Program& program) const {
  std::uint32_t registers = 1;
  for (std::uint32_t i = program.first; i < program.first + program.count; ++i) {
    registers = std::max(registers, plan_.instructions[i].out + 1U);
  }
  return registers;
}

Result<ProgramWriter::Number> CellPlanner::evaluate(ProgramWriter& writer, ValueId id, std::int64_t offset,
                                                    std::int64_t wide) {
  if (const auto known = writer.known(id, offset)) return *known;
  auto made = evaluate_new(writer, id, offset, wide);
  if (made) writer.remember(id, offset, *made);
  return made;
}

Result<ProgramWriter::Number> CellPlanner::evaluate_new(ProgramWriter& writer, ValueId id,
                                                        std::int64_t offset, std::int64_t wide) {
  const Operator& op = *cell_.producer(id);
  const auto buffered = buffers_.find(id);
  if (buffered != buffers_.end() && buffered->second.stage <= plan_.stages.size()) {
    Place place = buffered->second.place;
    place.offset += static_cast<std::uint32_t>(offset);
    return writer.load(leaves_.number_of(place));
  }
  if (has_sums(op)) return evaluate_sums(writer, op, offset, wide);
  if (op.is(kSliceOp)) return evaluate(writer, op.inputs[0], offset + op.begin, wide);
  if (op.is(kConcatOp)) return evaluate_concat(writer, op, offset, wide);
  if (folds(op)) return evaluate_fold(writer, op, offset);
  if (is_leaf(op)) {
    auto place = leaves_.leaf(op, offset);
    if (!place) return tl::unexpected(place.error());
    return writer.load(leaves_.number_of(*place));
  }
  return evaluate_elements(writer, op, offset, wide);
}

Result<ProgramWriter::Number> CellPlanner::evaluate_fold(ProgramWriter& writer, const Operator& op,
                                                         std::int64_t offset) {
  const auto folded = buffers_.find(op.inputs[0]);
  auto place = folded != buffers_.end() ? Result<Place>(folded->second.place)
                                        : leaves_.leaf(*cell_.producer(op.inputs[0]), 0);
  if (!place) return tl::unexpected(place.error());
  place->offset += static_cast<std::uint32_t>(offset);
  if (op.is(kSegmentSumOp)) return writer.segment_sum(leaves_.number_of(*place));
  auto token = evaluate(writer, op.inputs[1], 0, 1);
  if (!token) return token;
  return writer.hash_all(leaves_.number_of(*place), *token);
}

Result<ProgramWriter::Number> CellPlanner::evaluate_elements(ProgramWriter& writer, const Operator& op,
                                                             std::int64_t offset, std::int64_t wide) {
  Number in[3] = {0, 0, 0};
  for (std::size_t i = 0; i < op.inputs.size() && i < 3; ++i) {
    auto input = evaluate(writer, op.inputs[i], offset, wide);
    if (!input) return input;
    in[i] = *input;
  }
  return writer.compute(*code_of(op), in[0], in[1], in[2]);
}

Result<ProgramWriter::Number> CellPlanner::evaluate_concat(ProgramWriter& writer, const Operator& op,
                                                           std::int64_t offset, std::int64_t wide) {
  std::int64_t begin = 0;
  for (ValueId part : op.inputs) {
    if (offset >= begin && offset + wide <= begin + width(part))
      return evaluate(writer, part, offset - begin, wide);
    begin += width(part);
  }
  return leaves_.bad("a concatenation is read across a seam before it lies in memory");
}

// The sums, and where they start from.
Result<ProgramWriter::Number> CellPlanner::evaluate_sums(ProgramWriter& writer, const Operator& op,
                                                         std::int64_t offset, std::int64_t wide) {
  Place sums = sums_.at(op.output);
  sums.offset += static_cast<std::uint32_t>(offset);
  const Number sum = writer.load(leaves_.number_of(sums));
  if (op.has_bias) {
    auto bias = leaves_.bias_of(op);
    if (!bias) return tl::unexpected(bias.error());
    bias->offset += static_cast<std::uint32_t>(offset);
    return writer.compute(Instruction::Code::kAdd, sum, writer.load(leaves_.number_of(*bias)));
  }
  if (!op.has_start) return sum;
  auto start = evaluate(writer, op.inputs.back(), offset, wide);
  if (!start) return start;
  return writer.compute(Instruction::Code::kAdd, sum, *start);
}

}  // namespace volvox::gpu
