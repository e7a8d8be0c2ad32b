#include <algorithm>

#include "cells/ir/lane_plan.h"
#include "repository/kinds/definitions.h"

namespace volvox {
namespace {

// The lowest layer computes ahead in both directions, and takes four lanes; each above it two.
constexpr std::uint32_t kMaxLayers = LanePlan::kMaxLanes / 2 - 1;

std::string back_name(std::uint32_t layer) {
  return layer_name(layer) + "_back";
}

std::uint32_t layers_of(const NewSizes& sizes) {
  return sizes.layers == 0 ? 1 : sizes.layers;
}

// Two lanes for each layer, in both directions, "layer0" and "layer0_back" and so on, and no output.
ModelDefinition both_directions(const NewSizes& sizes, std::uint32_t layers) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (const bool back : {false, true}) {
      const NewSizes above{.hidden = sizes.hidden, .input = sizes.hidden};
      const std::string name = back ? back_name(layer) : layer_name(layer);
      definition.cells.push_back(layer == 0 ? sized_cell(name, "lstm", sizes)
                                            : sized_cell(name, "lstm_layer_2", above));
      LaneDefinition lane{.cell = name, .reverse = back};
      if (layer > 0) lane.from = {layer_name(layer - 1), back_name(layer - 1)};
      definition.lanes.push_back(std::move(lane));
    }
  }
  return definition;
}

ModelDefinition bidirectional(const NewSizes& sizes, bool) {
  ModelDefinition definition = both_directions(sizes, layers_of(sizes));
  const std::size_t lanes = definition.lanes.size();
  definition.lanes[lanes - 2].push = {"h"};
  definition.lanes[lanes - 1].push = {"h_back"};
  definition.outputs.push_back(state_output("h", sizes, true));
  definition.outputs.push_back(state_output("h_back", sizes, true));
  return definition;
}

ModelDefinition tagger(const NewSizes& sizes, bool) {
  const std::uint32_t layers = layers_of(sizes);
  ModelDefinition definition = both_directions(sizes, layers);
  definition.cells.push_back(
      {.name = "tagger", .kind = "tagger_2", .input = sizes.hidden, .hidden = sizes.labels});
  definition.lanes.push_back(
      {.cell = "tagger", .from = {layer_name(layers - 1), back_name(layers - 1)}, .push = {"label"}});
  definition.outputs.push_back({.name = "label", .every = true});
  return definition;
}

ModelDefinition classifier(const NewSizes& sizes, bool) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.cells = {sized_cell("lstm", "lstm", sizes),
                      sized_cell("pooled", "max_pooling", sizes),
                      sized_cell("highway", "highway", sizes),
                      {.name = "label", .kind = "tagger", .input = sizes.hidden, .hidden = sizes.labels}};
  definition.lanes = {{.cell = "lstm", .over = "tokens"},
                      {.cell = "pooled", .from = {"lstm:all"}, .over = "text"},
                      {.cell = "highway", .from = {"pooled"}, .over = "text"},
                      {.cell = "label", .from = {"highway"}, .over = "text", .push = {"label"}}};
  definition.sequences.push_back({.name = "text", .once = true});
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  definition.outputs.push_back({.name = "label"});
  return definition;
}

ModelDefinition similarity(const NewSizes& sizes, bool) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.cells = {sized_cell("encoder", "lstm", sizes), sized_cell("cosine", "cosine", sizes)};
  for (const std::string side : {"left", "right"}) {
    definition.lanes.push_back({.name = side, .cell = "encoder", .over = side});
    definition.sequences.push_back({.name = side});
    definition.inputs.push_back({.name = side, .sequence = side, .vocabulary = sizes.vocabulary});
  }
  definition.lanes.push_back(
      {.cell = "cosine", .from = {"left:last", "right:last"}, .over = "pair", .push = {"similarity"}});
  definition.sequences.push_back({.name = "pair", .once = true});
  definition.outputs.push_back({.name = "similarity"});
  return definition;
}

// An encoder, and a decoder that goes on from its last state.
ModelDefinition translator(const NewSizes& sizes, const char* decoder) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.cells = {sized_cell("encoder", "lstm", sizes), sized_cell("decoder", decoder, sizes)};
  definition.cells.back().start = 1;
  definition.lanes = {{.cell = "encoder", .over = "tokens"},
                      {.cell = "decoder", .initial = "encoder", .over = "target", .push = {"translation"}}};
  definition.sequences.push_back(
      {.name = "target", .max_length = sizes.steps, .until = "translation", .equals = 0});
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  definition.outputs.push_back({.name = "translation", .every = true});
  return definition;
}
ModelDefinition seq2seq(const NewSizes& sizes, bool) {
  return translator(sizes, "lstm_decoder");
}
ModelDefinition attending(const NewSizes& sizes, const char* decoder) {
  ModelDefinition definition = translator(sizes, decoder);
  definition.lanes.back().from = {"encoder:all"};
  return definition;
}
ModelDefinition attention_seq2seq(const NewSizes& sizes, bool) {
  return attending(sizes, "lstm_dot_decoder");
}
ModelDefinition additive_seq2seq(const NewSizes& sizes, bool) {
  return attending(sizes, "lstm_additive_decoder");
}

// Whose decoder draws its tokens, with a seed that the request brings.
ModelDefinition sampling_seq2seq(const NewSizes& sizes, bool) {
  constexpr std::uint32_t kMostLikely = 40;
  ModelDefinition definition = translator(sizes, "lstm_sampling_decoder");
  definition.cells.back().top_k = std::min(sizes.vocabulary, kMostLikely);
  definition.cells.push_back({.name = "seed", .kind = "seed"});
  definition.lanes.back().from = {"seed:last"};
  definition.lanes.insert(definition.lanes.begin(), {.cell = "seed", .over = "request"});
  definition.sequences.push_back({.name = "request", .once = true});
  definition.inputs.push_back({.name = "seed", .sequence = "request"});
  return definition;
}

// Whose decoder is a beam search, which reads the encoder's last states itself: each beam's are as many.
ModelDefinition beam_seq2seq(const NewSizes& sizes, bool) {
  ModelDefinition definition = translator(sizes, "lstm_beam_decoder");
  definition.cells.back().length_penalty = 0.6;
  LaneDefinition& lane = definition.lanes.back();
  lane.initial.clear();
  lane.from = {"encoder:last"};
  lane.push = {"left", "translation"};
  definition.sequences.back().until = "left";
  definition.outputs.back().path = true;
  definition.outputs.push_back({.name = "left", .every = true});
  return definition;
}

// The tagger, whose labels are the best together.
ModelDefinition crf_tagger(const NewSizes& sizes, bool every) {
  ModelDefinition definition = tagger(sizes, every);
  definition.cells.back().kind = "viterbi_2";
  definition.outputs.back().path = true;
  return definition;
}

// Frames are codes of sounds, as a quantiser makes them.
ModelDefinition rnnt(const NewSizes& sizes, bool) {
  ModelDefinition definition{.unfolding = "lanes"};
  definition.cells = {
      sized_cell("encoder", "lstm", sizes),
      {.name = "transducer", .kind = "lstm_transducer", .input = sizes.hidden, .hidden = sizes.hidden}};
  definition.lanes = {{.cell = "encoder"}, {.cell = "transducer", .from = {"encoder"}, .push = {"symbols"}}};
  definition.inputs.push_back({.name = "tokens", .vocabulary = sizes.vocabulary});
  definition.outputs.push_back({.name = "symbols", .every = true});
  return definition;
}

constexpr std::uint8_t kDecoderSizes = kTokenSizes | ModelKind::kSteps,
                       kTaggerSizes = kTokenSizes | ModelKind::kLabels;

constexpr ModelKind kKinds[] = {
    {"bidirectional", "LSTMs in both directions: h and h_back of every step", kTokenSizes, false, kMaxLayers,
     bidirectional},
    {"tagger", "LSTMs in both directions and a label of every step", kTaggerSizes, false, kMaxLayers - 1,
     tagger},
    {"classifier", "an LSTM, the largest of its states, a highway layer, and one label", kTaggerSizes, false,
     0, classifier},
    {"similarity", "an LSTM over left and right, and the cosine of both last states", kTokenSizes, false, 0,
     similarity},
    {"seq2seq", "an LSTM encoder and a greedy decoder", kDecoderSizes, false, 0, seq2seq},
    {"attention_seq2seq", "the same, whose decoder attends to all states of the encoder (dot)", kDecoderSizes,
     false, 0, attention_seq2seq},
    {"beam_seq2seq", "an LSTM encoder and a decoder that searches with beams", kDecoderSizes, false, 0,
     beam_seq2seq},
    {"crf_tagger", "LSTMs in both directions and the labels that are the best together", kTaggerSizes, false,
     kMaxLayers - 1, crf_tagger},
    {"rnnt", "an LSTM encoder and a greedy transducer: what is said at each step, token 0 for nothing",
     kTokenSizes, false, 0, rnnt},
    {"sampling_seq2seq",
     "the same, whose decoder draws from its likeliest tokens, with a seed of the request", kDecoderSizes,
     false, 0, sampling_seq2seq},
    {"additive_seq2seq", "the same with additive attention", kDecoderSizes, false, 0, additive_seq2seq}};

}  // namespace

extern const std::span<const ModelKind> kLanesModels;
const std::span<const ModelKind> kLanesModels = kKinds;

}  // namespace volvox
