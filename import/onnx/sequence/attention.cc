#include "import/onnx/sequence/attention.h"

#include <memory>
#include <string>
#include <utility>

namespace volvox::onnx_import {
namespace {

constexpr const char* kAttends = "multiplies steps of the sequence with each other";

Quantity question(Question asked) {
  Quantity made{.shape = asked.row.shape};
  made.shape.back() = 1;
  made.asked = std::make_shared<const Question>(std::move(asked));
  return made;
}

std::int64_t heads_of(const Shape& shape) {
  return elements({shape.begin(), shape.end() - 2});
}

void scale(StepCall& call, Question asked) {
  const std::string& op = call.node.node.op;
  const std::size_t factor = call.in(0).asked == nullptr ? 0 : 1;
  const bool is_number =
      call.node.has(factor) && call.in(factor).is_known() && call.in(factor).known->size() == 1;
  if (asked.shares || !is_number || (op == "Div" && factor == 0))
    refuse(std::string(kAttends) +
           ", and that with more than a number before a softmax: attention with masks is not served");
  const Quantity number = call.node.writer.reshape(call.in(factor), {});
  asked.row = call.node.writer.pointwise(op == "Div" ? "div" : "mul", {asked.row, number});
  call.make(question(std::move(asked)), call.in(1 - factor).steps);
}

void share(StepCall& call, Question asked) {
  const std::size_t rank = call.in(0).rank();
  const std::size_t axis = NodeCall::axis(call.node.integer("axis", call.node.opset < 13 ? 1 : -1), rank);
  if (asked.shares || axis + 1 != rank)
    refuse(std::string(kAttends) + ", and goes over them along another axis than the last");
  asked.shares = true;
  call.make(question(std::move(asked)), call.in(0).steps);
}

void answer(StepCall& call, const Question& asked) {
  if (!asked.shares || call.in(0).asked == nullptr || !call.steps(1))
    refuse(std::string(kAttends) + ", without a softmax of them");
  call.want_one_row(1);
  Quantity values = call.in(1);
  values.steps.reset();
  if (call.in(1).rank() - *call.steps(1) != 2 || heads_of(values.shape) != heads_of(asked.row.shape))
    refuse(std::string(kAttends) + ", and weighs others by that");
  const Quantity made = call.lanes.attended(asked.row, asked.rows, values, heads_of(values.shape));
  Shape shape = asked.row.shape;
  shape.back() = values.shape.back();
  call.make(call.node.writer.reshape(made, shape), shape.size() - 2);
}

}  // namespace

void note_weighing(const StepCall& call, Quantity& made) {
  for (const std::size_t shares : {0U, 1U}) {
    const Quantity& other = call.in(1 - shares);
    const auto& weighing = call.in(shares).weighing;
    if (weighing == nullptr || weighing->values || !other.steps || other.is_known() ||
        other.dtype != DType::kF32)
      continue;
    Weighing all = *weighing;
    all.values = other;
    all.values->steps.reset();
    made.weighing = std::make_shared<const Weighing>(std::move(all));
    return;
  }
}

void ask(StepCall& call) {
  call.want_one_row(0);
  call.want_one_row(1);
  Question asked{.row = call.in(0), .rows = call.in(1)};
  asked.row.steps.reset();
  asked.rows.steps.reset();
  const std::size_t rank = asked.row.rank();
  if (asked.rows.rank() != rank || heads_of(asked.row.shape) != heads_of(asked.rows.shape) ||
      asked.row.shape[rank - 1] != asked.rows.shape[rank - 2])
    refuse("multiplies steps of the sequence with each other that do not fit");
  call.use.as_steps = call.use.anew = true;
  call.make(question(std::move(asked)), rank - 2);
}

void go_on_asking(StepCall& call) {
  const std::size_t with = call.in(0).asked == nullptr ? 1 : 0;
  const Question& asked = *call.in(with).asked;
  const std::string& op = call.node.node.op;
  if (op == "Mul" || op == "Div") return scale(call, asked);
  if (op == "Softmax") return share(call, asked);
  if (op == "MatMul") return answer(call, asked);
  if (op != "Identity" && op != "Dropout")
    refuse(std::string(kAttends) + ", and does something else with that than attention");
  call.make(question(asked), call.in(0).steps);
}

}  // namespace volvox::onnx_import
