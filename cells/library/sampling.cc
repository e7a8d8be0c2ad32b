#include "cells/library/sampling.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/decoder_step.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build_seed(std::string_view name, const CellSizes&, const Weights*,
                                     std::string_view) {
  return only(seed_cell(name));
}
Result<std::vector<Cell>> build_decoder(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                        std::string_view model) {
  return only(lstm_sampling_decoder_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {
    {"seed", "lanes", false, build_seed},
    {"lstm_sampling_decoder", "lanes", true, build_decoder, kStartKey | kSamplingKeys}};

// The number of the step that the cell is at.
ValueId count_steps(CellBuilder& b) {
  b.state({.name = "steps", .shape = {}, .dtype = DType::kI32});
  const ValueId before = b.gather(0, "steps");
  // As many as an f32 counts are more than a sequence may have.
  b.scatter("steps", b.apply("to_i32", {b.add(b.apply("to_f32", {before}), b.constant(1))}));
  return before;
}

// Which of the logits.
ValueId sampled(CellBuilder& b, ValueId logits, ValueId u, const CellSizes& sizes) {
  const Attributes k{.integers = {sizes.top_k}};
  const ValueId likely = b.apply("top_k", {logits}, k), tokens = b.apply("top_k_indices", {logits}, k);
  const ValueId cooled = b.apply("div", {likely, b.constant(sizes.temperature)});
  const ValueId chosen = b.apply("draw", {b.apply("softmax", {cooled}), u});
  return b.apply("take", {tokens, chosen}, {.integers = {0}});
}

}  // namespace

Result<Cell> seed_cell(std::string_view name) {
  CellBuilder b{std::string(name)};
  b.state({.name = "seed", .shape = {}, .dtype = DType::kI32});
  b.scatter("seed", b.pull("seed", DType::kI32));
  return b.build();
}

Result<Cell> lstm_sampling_decoder_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                        std::string_view model) {
  if (Status ok = check_tokens(weights, name); !ok) return tl::unexpected(ok.error());
  CellBuilder b{std::string(name)};
  const ValueId h = decoder_step(b, name, sizes);
  const ValueId logits = decoder_logits(b, name, h, sizes);
  const ValueId seed = b.gather(1, "seed", Shape{}, DType::kI32);
  const ValueId u = b.apply("uniform", {seed, count_steps(b)}, {.integers = {0}});
  say_token(b, sampled(b, logits, u, sizes));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kSamplingCells;
const std::span<const CellKind> kSamplingCells = kKinds;

}  // namespace volvox
