#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "cells/model/model_definition.h"
#include "repository/safetensors.h"

namespace volvox {

// New models to try a server with. Each function writes a whole model folder (model.toml and
// 1/weights.safetensors): beside its place first, then renamed, so that nobody ever sees half a model. An
// existing path is refused unless `overwrite` is set; it is then replaced. Parent folders are made.
// kUnavailable when the disk refuses.

// What all new models have in common.
struct NewModel {
  std::filesystem::path path{};  // the folder to write: <repository>/<name>
  std::string name{};            // empty: the folder's own
  std::uint32_t max_batch = 0;   // 0: the kind's own default
  bool overwrite = false;
  bool every_step = false;  // the output has a row for every step or node instead of the last one's only
};

// A model of these cells and weights. Cells that are given are written beside the definition.
Status write_model(const NewModel& model, ModelDefinition definition, std::span<const TensorSource> tensors);

// Sizes of an LSTM, or of a TreeLSTM.
struct NewLstm {
  std::uint32_t hidden = 1024;
  std::uint32_t input = 0;  // width of the embedding; 0: as hidden
  std::uint32_t vocabulary = 30000;
  std::uint32_t layers = 1;   // of an LSTM: each above the one before
  std::uint32_t steps = 100;  // of a decoder, at most
  std::uint64_t seed = 1;
};

// An LSTM over i32 "tokens" that answers the last "h" (or all); with several layers, that of the topmost.
// Weights from the seed, the same bytes everywhere: uniform in ±1/√hidden, embeddings nearly normal with
// variance 1.
Status write_lstm_model(const NewModel& model, const NewLstm& lstm);
// The same in both directions: answers for every step "h", of the lane from the beginning, and "h_back", of
// the one from the end, of the topmost layer; each layer above reads both of the one below.
Status write_bidirectional_model(const NewModel& model, const NewLstm& lstm);
// An LSTM over i32 "tokens", and a greedy decoder that goes on from its last state: it begins with the token
// 1, and answers i32 "translation" up to the token 0, or `steps` of them.
Status write_seq2seq_model(const NewModel& model, const NewLstm& sizes);
enum class NewTreeKind : std::uint8_t { kBinary, kChildSum };
// A TreeLSTM over i32 "tokens" that answers the root's "h" (or that of every node): over binary trees, with
// tokens at the leaves; or the child-sum kind, over any trees, with a token at every node. Weights as above.
Status write_tree_model(const NewModel& model, const NewLstm& sizes, NewTreeKind kind);
// One empty cell for every row of i32 "tokens", and an answer without outputs.
Status write_noop_model(const NewModel& model);
// A chain of check_hash() over i32 "tokens" that answers the last u64 "state" (or all).
Status write_check_model(const NewModel& model);
// The same over trees: answers the root's "state" (or that of every node).
Status write_check_tree_model(const NewModel& model);

}  // namespace volvox
