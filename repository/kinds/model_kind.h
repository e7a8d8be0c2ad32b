#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cells/model/model_definition.h"

namespace volvox {

// Sizes of a new model; each kind says which of them it has.
struct NewSizes {
  std::uint32_t hidden = 1024;
  std::uint32_t input = 0;  // width of the embedding, or of what is read; 0: as the kind has it
  std::uint32_t vocabulary = 30000;
  std::uint32_t layers = 0;   // above each other; 0: the kind's own number
  std::uint32_t steps = 100;  // of a decoder, at most
  std::uint32_t labels = 16;  // that a tagger chooses among, or that are scored
  std::uint64_t seed = 1;
};

// What `volvox models new KIND` writes. Each source in kinds/ defines some, k<File>Models, and nothing else
// names them: the build collects them (repository/CMakeLists.txt).
struct ModelKind {
  enum Size : std::uint8_t { kHidden = 1, kVocabulary = 2, kSteps = 4, kLabels = 8 };  // kHidden: and `input`

  std::string_view name{};
  std::string_view says{};     // a line for help and pages
  std::uint8_t sizes = 0;      // those that it has
  bool may_push_every = true;  // its output may have a row for every step or node instead of the last one's
  std::uint32_t most_layers = 0;  // 0: it has no number of layers
  // Its definition, without a name. `every`: of a kind that has the choice.
  ModelDefinition (*define)(const NewSizes& sizes, bool every) = nullptr;
  std::uint32_t usual_input = 0;  // `input` where nobody says it; 0: as hidden
};

// All there are, a span for each source.
std::span<const std::span<const ModelKind>* const> model_kinds();
// Null when there is none of this name.
const ModelKind* find_model_kind(std::string_view name);

}  // namespace volvox
