#pragma once

#include <optional>

#include "base/error.h"
#include "import/onnx/graph.h"
#include "import/onnx/import_onnx.h"

namespace volvox::onnx_import {

// A graph over a sequence of any length, as lanes.
struct SequenceModel {
  Result<ConvertedOnnx> converted;
  // Every input but constants and lengths goes along the sequence. Where not, and nobody has said that there
  // is a sequence, the graph may also be that of one step, whose states are inputs.
  bool all_inputs = true;
};

// Nothing: no recurrent layer goes along an axis that is open, or that the import names.
std::optional<SequenceModel> convert_sequence(const OnnxImport& wanted, const OnnxModel& model);

}  // namespace volvox::onnx_import
