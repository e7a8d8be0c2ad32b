#include "cells/library/beam_decoder.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "cells/ir/cell_builder.h"
#include "cells/library/decoder_step.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_beam_decoder_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm_beam_decoder", "lanes", true, build, kStartKey | kBeamKeys}};

// Among how many tokens it chooses; 0: nobody knows.
std::int64_t count_tokens(const std::string& output, const CellSizes& sizes, const Weights* weights) {
  const Tensor* tensor = weights == nullptr ? nullptr : weights->find(output);
  return tensor == nullptr || tensor->shape.size() != 2 ? sizes.outputs : tensor->shape[0];
}

// The operators of one step, part by part. "A column" has one element for each beam.
class BeamStep {
 public:
  BeamStep(CellBuilder& b, std::string_view name, const CellSizes& sizes, std::int64_t tokens)
      : b_(b), prefix_(std::string(name) + "."), sizes_(sizes), tokens_(tokens) {}

  void write() {
    declare();
    read();
    step();
    choose(worth());
  }

 private:
  std::int64_t beams() const { return sizes_.beams; }
  ValueId column(ValueId x) { return b_.reshape(x, {beams(), 1}); }
  ValueId flat(ValueId x) { return b_.reshape(x, {beams() * tokens_}); }
  ValueId take(ValueId x, ValueId i) { return b_.apply("take", {x, i}, {.integers = {0}}); }
  ValueId take(ValueId x, int i) { return take(x, b_.apply("to_i32", {b_.constant(i)})); }
  ValueId is_end(std::string_view compare, ValueId token) {
    return b_.apply(compare, {b_.apply("to_f32", {token}), b_.constant(static_cast<double>(sizes_.end))});
  }

  void declare() {
    const Shape matrix{beams(), sizes_.hidden}, vector{beams()};
    b_.state({.name = "h", .shape = matrix}).state({.name = "c", .shape = matrix});
    b_.state({.name = "token",
              .shape = vector,
              .dtype = DType::kI32,
              .initial = static_cast<double>(sizes_.start)});
    b_.state({.name = "sums", .shape = vector}).state({.name = "lengths", .shape = vector});
  }

  // At the first step, whose beams have no length, all go on from the same states, and only one of them
  // counts.
  void read() {
    lengths_ = b_.gather(0, "lengths");
    const ValueId first = b_.apply("equal", {lengths_, b_.constant(0)});
    const auto other = [&](std::string_view kind) {
      const ValueId begin = b_.gather(1, kind, Shape{sizes_.hidden});
      return b_.apply("select", {column(first), begin, b_.gather(0, kind)});
    };
    h_ = other("h");
    c_ = other("c");
    std::vector<double> one(static_cast<std::size_t>(beams()), -std::numeric_limits<double>::infinity());
    one[0] = 0;
    const ValueId begin = b_.apply("constant", {}, {.integers = {beams()}, .reals = one});
    sums_ = b_.apply("select", {first, begin, b_.gather(0, "sums")});
    token_ = b_.gather(0, "token");
    ended_ = b_.apply("select", {first, b_.constant(0), is_end("equal", token_)});
  }

  void step() {
    const std::string weight_ih = prefix_ + "weight_ih", weight_hh = prefix_ + "weight_hh",
                      bias = prefix_ + "bias";
    const ValueId x = b_.embed(token_, prefix_ + "embedding", sizes_.input);
    const std::int64_t hidden = sizes_.hidden;
    const ValueId z = b_.linear({{weight_ih, x}, {weight_hh, h_}}, {.bias = bias, .width = 4 * hidden});
    std::array<ValueId, 4> gates{};
    for (std::int64_t k = 0; k < 4; ++k) {
      gates[static_cast<std::size_t>(k)] =
          b_.apply("slice_axis", {z}, {.integers = {1, k * hidden, (k + 1) * hidden}});
    }
    const auto [h, c] = lstm_states(b_, gates, c_);
    h_ = h;
    c_ = c;
  }

  // Of each token after each beam, [beams, tokens]: sets the sums of logarithms, and returns what they are
  // worth.
  ValueId worth() {
    const std::string output = prefix_ + "output", bias = prefix_ + "output_bias";
    const ValueId logits = b_.linear({{output, h_}}, {.bias = bias, .width = tokens_});
    const ValueId costs =
        b_.apply("hold", {b_.apply("log_softmax", {logits}), ended_}, {.integers = {sizes_.end}});
    sums_ = b_.add(column(sums_), costs);
    lengths_ = b_.add(lengths_, b_.apply("sub", {b_.constant(1), ended_}));
    if (sizes_.length_penalty == 0) return sums_;
    const ValueId length = b_.apply("div", {b_.add(lengths_, b_.constant(5)), b_.constant(6)});
    const ValueId penalty = b_.apply("pow", {length}, {.reals = {sizes_.length_penalty}});
    return b_.apply("div", {sums_, column(penalty)});
  }

  void choose(ValueId worth) {
    const ValueId best = b_.apply("top_k_indices", {flat(worth)}, {.integers = {beams()}});
    const ValueId places = b_.apply("unravel", {best}, {.integers = {beams(), tokens_}});
    const ValueId parent = take(places, 0), token = take(places, 1);
    b_.scatter("h", take(h_, parent));
    b_.scatter("c", take(c_, parent));
    b_.scatter("token", token);
    b_.scatter("sums", take(flat(sums_), best));
    b_.scatter("lengths", take(lengths_, parent));
    const ValueId left = b_.apply("reduce_sum", {is_end("not_equal", token)});
    b_.push("left", b_.reshape(b_.apply("to_i32", {left}), {}));
    b_.push("path", places);
  }

  CellBuilder& b_;
  const std::string prefix_;
  const CellSizes& sizes_;
  const std::int64_t tokens_;
  ValueId h_ = kNoValue, c_ = kNoValue, token_ = kNoValue, sums_ = kNoValue, lengths_ = kNoValue;
  ValueId ended_ = kNoValue;  // a column: 1 where a beam has ended
};

}  // namespace

Result<Cell> lstm_beam_decoder_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                    std::string_view model) {
  if (Status ok = check_tokens(weights, name); !ok) return tl::unexpected(ok.error());
  const std::string output = std::string(name) + ".output";
  const std::int64_t tokens = count_tokens(output, sizes, weights);
  if (tokens == 0) {
    return invalid("cell " + in_quotes(std::string(name)) + ": the weight " + in_quotes(output) +
                   " is missing or no matrix, and says how many tokens there are");
  }
  CellBuilder b{std::string(name)};
  BeamStep(b, name, sizes, tokens).write();
  return b.build(weights, model);
}

extern const std::span<const CellKind> kBeamDecoderCells;
const std::span<const CellKind> kBeamDecoderCells = kKinds;

}  // namespace volvox
