#include "cells/library/attention_decoder.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/decoder_step.h"

namespace volvox {
namespace {

template <Attention kAttention>
Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(attention_decoder_cell(name, sizes, kAttention, weights, model));
}

constexpr CellKind kKinds[] = {
    {"lstm_dot_decoder", "lanes", true, build<Attention::kDot>, kStartKey},
    {"lstm_additive_decoder", "lanes", true, build<Attention::kAdditive>, kStartKey}};

// One for each state in the list.
ValueId scores(CellBuilder& b, const std::string& prefix, Attention attention, ValueId h, ValueId all,
               std::int64_t hidden) {
  if (attention == Attention::kDot) return b.apply("dot", {all, h});
  const std::string query = prefix + "query", key = prefix + "key", score = prefix + "score";
  const ValueId asked = b.product({{query, h}}, {.width = hidden});
  const ValueId keys = b.product({{key, all}}, {.width = hidden});
  return b.product({{score, b.tanh(b.add(keys, asked))}}, {.width = 1});
}

}  // namespace

Result<Cell> attention_decoder_cell(std::string_view name, const CellSizes& sizes, Attention attention,
                                    const Weights* weights, std::string_view model) {
  if (Status ok = check_tokens(weights, name); !ok) return tl::unexpected(ok.error());
  const std::string prefix = std::string(name) + ".";
  const std::string mix_context = prefix + "mix_context", mix_h = prefix + "mix_h";
  CellBuilder b{std::string(name)};
  const ValueId h = decoder_step(b, name, sizes);
  const ValueId all = b.gather_all("h");
  const ValueId share = b.apply("segment_softmax", {scores(b, prefix, attention, h, all, sizes.hidden)});
  const ValueId context = b.segment_sum(b.mul(share, all));
  const ValueId attended = b.tanh(b.product({{mix_context, context}, {mix_h, h}}, {.width = sizes.hidden}));
  say_token(b, b.argmax(decoder_logits(b, name, attended, sizes)));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kAttentionDecoderCells;
const std::span<const CellKind> kAttentionDecoderCells = kKinds;

}  // namespace volvox
