#include "cells/library/lstm_decoder.h"

#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/library/decoder_step.h"

namespace volvox {
namespace {

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_decoder_cell(name, sizes, weights, model));
}

constexpr CellKind kKinds[] = {{"lstm_decoder", "lanes", true, build, kStartKey}};

}  // namespace

Result<Cell> lstm_decoder_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                               std::string_view model) {
  if (Status ok = check_tokens(weights, name); !ok) return tl::unexpected(ok.error());
  CellBuilder b{std::string(name)};
  const ValueId h = decoder_step(b, name, sizes);
  say_token(b, b.argmax(decoder_logits(b, name, h, sizes)));
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLstmDecoderCells;
const std::span<const CellKind> kLstmDecoderCells = kKinds;

}  // namespace volvox
