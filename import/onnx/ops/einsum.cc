#include "import/onnx/einsum.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.h"
#include "import/onnx/known.h"
#include "import/onnx/node_call.h"

namespace volvox::onnx_import {
namespace {

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

// The letters of one input or of the result; `hidden` is how many axes its ellipsis stands for. They are
// counted from the last one, as in all broadcasts.
std::string letters_of(std::string_view written, std::size_t hidden) {
  std::string letters;
  bool open = false;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written.substr(i).starts_with("...")) {
      if (open) refuse("its equation has an ellipsis twice");
      open = true;
      for (std::size_t axis = hidden; axis > 0; --axis) letters += static_cast<char>(axis);
      i += 2;
    } else if ((written[i] >= 'a' && written[i] <= 'z') || (written[i] >= 'A' && written[i] <= 'Z')) {
      if (has(letters, written[i])) refuse("takes a diagonal of one input, or names an axis twice");
      letters += written[i];
    } else {
      refuse("its equation has " + in_quotes(std::string(1, written[i])));
    }
  }
  return letters;
}

// One operand, each of whose axes has a letter.
struct Lettered {
  Quantity x{};
  std::string letters{};

  std::int64_t extent(char letter) const { return x.shape[letters.find(letter)]; }
};

std::string only(std::string_view letters, const std::function<bool(char)>& wanted) {
  std::string kept;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(kept), wanted);
  return kept;
}

Quantity in_order(CellWriter& w, const Lettered& from, std::string_view letters) {
  std::vector<std::int64_t> axes;
  axes.reserve(letters.size());
  for (const char letter : letters) axes.push_back(static_cast<std::int64_t>(from.letters.find(letter)));
  return w.transpose(from.x, axes);
}

// Without the axes that nobody wants.
Lettered summed(CellWriter& w, const Lettered& from, std::string_view wanted) {
  Attributes axes;
  Shape kept = from.x.shape, left;
  std::string letters;
  for (std::size_t axis = 0; axis < from.letters.size(); ++axis) {
    if (has(wanted, from.letters[axis])) {
      letters += from.letters[axis];
      left.push_back(kept[axis]);
    } else {
      axes.integers.push_back(static_cast<std::int64_t>(axis));
      kept[axis] = 1;
    }
  }
  const bool changes = kept != from.x.shape;
  return {w.reshape(changes ? w.apply("reduce_sum", {from.x}, std::move(axes), kept) : from.x, left),
          std::move(letters)};
}

// By ONNX's own product of matrices, which knows how what is known is multiplied.
Quantity product(const NodeCall& call, const Quantity& a, const Quantity& b) {
  NodeCall one(call.writer, call.node, call.opset, {a, b});
  find_rule("MatMul")->write(one);
  return one.outputs.at(0);
}

Lettered combined(const NodeCall& call, Lettered a, Lettered b, std::string_view wanted) {
  CellWriter& w = call.writer;
  const auto of_both = [](std::string_view others, std::string_view more) {
    return std::string(others) + std::string(more);
  };
  a = summed(w, a, of_both(b.letters, wanted));
  b = summed(w, b, of_both(a.letters, wanted));
  // Weights stand behind what they multiply.
  if (a.x.is_known() && !b.x.is_known()) std::swap(a, b);
  for (const char letter : a.letters) {
    if (has(b.letters, letter) && a.extent(letter) != b.extent(letter))
      refuse("the shapes " + to_string(call.in(0).shape) + " and " + to_string(call.in(1).shape) +
             " do not fit");
  }
  const std::string each = only(a.letters, [&](char c) { return has(b.letters, c) && has(wanted, c); });
  const std::string inner = only(a.letters, [&](char c) { return has(b.letters, c) && !has(wanted, c); });
  const std::string rows = only(a.letters, [&](char c) { return !has(b.letters, c); });
  const std::string columns = only(b.letters, [&](char c) { return !has(a.letters, c); });
  if (each.size() + rows.size() + columns.size() > kMaxRank) refuse("has too many axes");
  Shape shape;
  std::int64_t count = 1, height = 1, depth = 1, width = 1;
  for (const char letter : each) {
    shape.push_back(a.extent(letter));
    count *= a.extent(letter);
  }
  for (const char letter : rows) {
    shape.push_back(a.extent(letter));
    height *= a.extent(letter);
  }
  for (const char letter : inner) depth *= a.extent(letter);
  for (const char letter : columns) {
    shape.push_back(b.extent(letter));
    width *= b.extent(letter);
  }
  const auto in_shape = [&](const Quantity& x, std::int64_t first, std::int64_t second) {
    return w.reshape(x, each.empty() ? Shape{first, second} : Shape{count, first, second});
  };
  const Quantity left = in_shape(in_order(w, a, each + rows + inner), height, depth);
  const Quantity right = in_shape(in_order(w, b, each + inner + columns), depth, width);
  // Without a sum there is only one product for each number.
  const Quantity made = inner.empty() ? w.mul(left, right) : product(call, left, right);
  return {w.reshape(made, shape), each + rows + columns};
}

void einsum(NodeCall& call) {
  CellWriter& w = call.writer;
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (call.in(i).dtype != DType::kF32 || (call.in(i).is_known() && !call.in(i).known->is_real()))
      refuse("multiplies whole numbers");
    ranks.push_back(call.in(i).rank());
  }
  const EinsumEquation equation = parse_einsum(call.text("equation", ""), ranks);
  Lettered made{call.in(0), equation.inputs[0]};
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    std::string wanted = equation.result;
    for (std::size_t later = i + 1; later < call.inputs(); ++later) wanted += equation.inputs[later];
    made = combined(call, std::move(made), {call.in(i), equation.inputs[i]}, wanted);
  }
  made = summed(w, made, equation.result);
  call.outputs = {in_order(w, made, equation.result)};
}

constexpr OpRule kRules[] = {{"Einsum", einsum, "no diagonals; axes of one letter have one extent"}};

}  // namespace

EinsumEquation parse_einsum(std::string_view equation, const std::vector<std::size_t>& ranks) {
  std::string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const std::size_t arrow = text.find("->");
  std::vector<std::string> written{""};
  for (const char c : std::string_view(text).substr(0, arrow)) {
    if (c == ',') {
      written.emplace_back();
    } else {
      written.back() += c;
    }
  }
  if (ranks.empty() || written.size() != ranks.size())
    refuse("its equation is of " + std::to_string(written.size()) + " inputs");
  EinsumEquation made;
  std::size_t most_hidden = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string named = letters_of(written[i], 0);
    const bool open = has(written[i], '.');
    if (named.size() > ranks[i] || (!open && named.size() != ranks[i]) || ranks[i] > kMaxRank)
      refuse("its equation names " + std::to_string(named.size()) + " axes of an input that has " +
             std::to_string(ranks[i]));
    most_hidden = std::max(most_hidden, ranks[i] - named.size());
    made.inputs.push_back(letters_of(written[i], ranks[i] - named.size()));
  }
  if (arrow != std::string::npos) {
    made.result = letters_of(std::string_view(text).substr(arrow + 2), most_hidden);
  } else {  // those of an ellipsis, and all that stand in one place, in their order
    std::string all;
    for (const std::string& input : made.inputs) all += input;
    std::sort(all.begin(), all.end());
    for (std::size_t axis = most_hidden; axis > 0; --axis) made.result += static_cast<char>(axis);
    for (const char letter : all) {
      if (letter > static_cast<char>(kMaxRank) && std::count(all.begin(), all.end(), letter) == 1)
        made.result += letter;
    }
  }
  for (const char letter : made.result) {
    if (std::ranges::none_of(made.inputs, [&](const std::string& input) { return has(input, letter); }))
      refuse("its result has an axis that no input has");
  }
  return made;
}

extern const std::span<const OpRule> kEinsumRules;
const std::span<const OpRule> kEinsumRules = kRules;

}  // namespace volvox::onnx_import
