#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "tests/unit/cells/op_cases.h"

namespace volvox::testing_cells {

float case_weight(const std::string& name, std::size_t k) {
  std::size_t x = (k + 1) * 2654435761U;
  for (const char letter : name) x = x * 31 + static_cast<unsigned char>(letter);
  return static_cast<float>(x % 2001) / 1000.0F - 1.0F;
}

OpBatch::OpBatch(const OpCase& op, std::uint32_t rows) : op_(op), seed_(rows) {
  build();
  draw_sources();
  std::mt19937 random(seed_ + 1);
  for (std::uint32_t r = 0; r < rows; ++r) {
    Row& row = rows_.emplace_back();
    for (std::uint32_t& source : row.gathers) source = static_cast<std::uint32_t>(random() % kSources);
    row.list.resize(random() % 5);
    for (std::uint32_t& source : row.list) source = static_cast<std::uint32_t>(random() % kSources);
  }
}

void OpBatch::build() {
  auto numbers = std::make_shared<std::vector<std::vector<float>>>();
  std::map<std::string, Tensor, std::less<>> tensors;
  for (const auto& [name, shape] : op_.weights) {
    auto& one = numbers->emplace_back(static_cast<std::size_t>(elements(shape)));
    for (std::size_t k = 0; k < one.size(); ++k) one[k] = case_weight(name, k);
    tensors[name] = {DType::kF32, shape, std::as_bytes(std::span(one))};
  }
  weights_ = Weights(tensors, numbers);
  CellBuilder b(op_.op);
  for (std::size_t i = 0; i < op_.operands.size(); ++i) {
    std::string name = "x";
    name += std::to_string(i);
    states_.push_back({.name = name, .shape = {elements(op_.operands[i].shape)}});
  }
  states_.push_back({.name = "k", .shape = {1}});
  for (const StateKind& state : states_) b.state(state);
  std::vector<ValueId> inputs;
  bool ragged = false;
  for (std::size_t i = 0; i < op_.operands.size(); ++i) {
    const OpCase::Operand& operand = op_.operands[i];
    const std::string name = states_[i].name;
    const ValueId x = operand.ragged ? b.gather_all(name) : b.gather(static_cast<std::uint32_t>(i), name);
    const ValueId shaped = b.reshape(x, operand.shape);
    inputs.push_back(operand.integer ? b.apply("to_i32", {shaped}) : shaped);
    ragged = ragged || operand.ragged;
  }
  const ValueId made = op_.build(b, inputs);
  const bool folds = find_op(op_.op)->folds;
  b.push("y", ragged && !folds ? b.segment_sum(b.mul(made, b.gather_all("k"))) : made);
  const auto cell = b.build(&weights_);
  if (!cell) throw std::logic_error(cell.error().message);  // a case that is wrong
  cell_ = *cell;
}

void OpBatch::draw_sources() {
  std::mt19937 random(seed_);
  for (std::uint32_t s = 0; s < kSources; ++s) {
    std::vector<float>& source = sources_.emplace_back();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const bool extra = i >= op_.operands.size();
      const OpCase::Operand operand = extra ? OpCase::Operand{{1}} : op_.operands[i];
      std::uniform_real_distribution<float> distribution(operand.least, operand.most);
      for (std::int64_t k = 0; k < states_[i].shape[0]; ++k) {
        const float number = distribution(random);
        source.push_back(operand.coarse ? std::round(number) : number);
      }
    }
  }
}

const Value& OpBatch::result() const {
  return cell_.values[cell_.operators.back().inputs[0]];
}

std::size_t OpBatch::offset_of(const std::string& state) const {
  std::size_t at = 0;
  for (const StateKind& kind : states_) {
    if (kind.name == state) break;
    at += static_cast<std::size_t>(kind.shape[0]);
  }
  return at;
}

Numbers OpBatch::operand(std::size_t i, std::uint32_t source) const {
  const auto first = sources_[source].begin() + static_cast<std::ptrdiff_t>(offset_of(states_[i].name));
  Numbers numbers(first, first + states_[i].shape[0]);
  if (op_.operands[i].integer) {
    for (double& number : numbers) number = std::trunc(number);
  }
  return numbers;
}

bool OpBatch::has_ragged_value() const {
  return std::any_of(op_.operands.begin(), op_.operands.end(),
                     [](const OpCase::Operand& operand) { return operand.ragged; });
}

// Σ over the predecessors of their rows in `edges`, times state "k" of each.
Numbers OpBatch::fold(const Row& row, const Numbers& edges) const {
  Numbers sum(result_elements());
  for (std::size_t e = 0; e < row.list.size(); ++e) {
    for (std::size_t k = 0; k < sum.size(); ++k) {
      sum[k] += edges[e * sum.size() + k] * static_cast<double>(sources_[row.list[e]].back());
    }
  }
  return sum;
}

Numbers OpBatch::want_of(const Row& row) const {
  if (op_.want_of_list) {
    std::vector<Numbers> list;
    for (const std::uint32_t source : row.list) list.push_back(operand(0, source));
    const Numbers made = op_.want_of_list(list);
    return find_op(op_.op)->folds ? made : fold(row, made);
  }
  const auto row_of = [&](const std::uint32_t* edge) {
    std::vector<Numbers> operands;
    for (std::size_t i = 0; i < op_.operands.size(); ++i) {
      operands.push_back(operand(i, op_.operands[i].ragged ? *edge : row.gathers[i]));
    }
    return op_.want(operands);
  };
  if (!has_ragged_value()) return row_of(nullptr);
  Numbers edges;
  for (const std::uint32_t& source : row.list) {
    const Numbers made = row_of(&source);
    edges.insert(edges.end(), made.begin(), made.end());
  }
  return fold(row, edges);
}

std::vector<Numbers> OpBatch::want() const {
  std::vector<Numbers> wanted;
  for (const Row& row : rows_) wanted.push_back(want_of(row));
  return wanted;
}

}  // namespace volvox::testing_cells
