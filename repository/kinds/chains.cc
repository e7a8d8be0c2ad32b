#include "cells/ir/lane_plan.h"
#include "repository/kinds/definitions.h"

namespace volvox {
namespace {

constexpr std::uint32_t kMaxLayers = LanePlan::kMaxLanes / 2;  // each with a lane for what it computes ahead

template <const char* kKind>
ModelDefinition chain(const NewSizes& sizes, bool every) {
  return one_lane(sized_cell(kKind, kKind, sizes), sizes, "h", every);
}

// A lane of LSTM cells for each layer, over the one before.
ModelDefinition stack(const NewSizes& sizes, bool every, std::uint32_t layers) {
  ModelDefinition definition = one_lane(sized_cell(layer_name(0), "lstm", sizes), sizes, "h", every);
  definition.unfolding = "lanes";
  for (std::uint32_t layer = 1; layer < layers; ++layer) {
    const NewSizes above{.hidden = sizes.hidden, .input = sizes.hidden};
    definition.cells.push_back(sized_cell(layer_name(layer), "lstm_layer", above));
    definition.lanes.push_back({.cell = layer_name(layer), .from = {layer_name(layer - 1)}});
  }
  definition.lanes.back().push = {"h"};
  return definition;
}

constexpr char kLstm[] = "lstm", kPeephole[] = "lstm_peephole", kProjection[] = "lstm_projection",
               kGru[] = "gru", kGruResetBefore[] = "gru_reset_before", kRnn[] = "rnn",
               kRnnRelu[] = "rnn_relu";

ModelDefinition lstm(const NewSizes& sizes, bool every) {
  return sizes.layers > 1 ? stack(sizes, every, sizes.layers) : chain<kLstm>(sizes, every);
}
ModelDefinition stacked(const NewSizes& sizes, bool every) {
  return stack(sizes, every, sizes.layers == 0 ? 2 : sizes.layers);
}

constexpr ModelKind kKinds[] = {
    {kLstm, "an LSTM; with --layers several above each other", kTokenSizes, true, kMaxLayers, lstm},
    {"stacked", "LSTMs above each other, two unless --layers says more", kTokenSizes, true, kMaxLayers,
     stacked},
    {kPeephole, "an LSTM whose gates see its cell state", kTokenSizes, true, 0, chain<kPeephole>},
    {kProjection, "an LSTM with a projected state", kTokenSizes, true, 0, chain<kProjection>},
    {kGru, "a GRU", kTokenSizes, true, 0, chain<kGru>},
    {kGruResetBefore, "a GRU that resets its state before the product", kTokenSizes, true, 0,
     chain<kGruResetBefore>},
    {kRnn, "a plain recurrent net with tanh", kTokenSizes, true, 0, chain<kRnn>},
    {kRnnRelu, "a plain recurrent net with relu", kTokenSizes, true, 0, chain<kRnnRelu>}};

}  // namespace

extern const std::span<const ModelKind> kChainsModels;
const std::span<const ModelKind> kChainsModels = kKinds;

}  // namespace volvox
