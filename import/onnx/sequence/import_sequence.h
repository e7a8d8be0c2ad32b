#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "import/onnx/graph.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/sequence/sequence_axes.h"

namespace volvox::onnx_import {

// What a graph is, taken for one over a sequence of any length.
struct SequenceReading {
  // As lanes; nothing: there is no recurrent layer, or none goes along an axis that is open, or that the
  // import names.
  std::optional<Result<ConvertedOnnx>> converted{};
  // It is over a sequence, whatever came of it: recurrent layers go along one, and a step of it would not be
  // what they do.
  bool is_sure = false;
  // Open axes of which a graph of one step has one: what recurrent layers have several sequences along, and a
  // sequence that they go along forwards from states that are inputs.
  std::vector<SequenceAxes> single{};
};

SequenceReading read_sequence(const OnnxImport& wanted, const OnnxModel& model);

}  // namespace volvox::onnx_import
