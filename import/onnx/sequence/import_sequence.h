#pragma once

#include <optional>

#include "base/error.h"
#include "import/onnx/graph.h"
#include "import/onnx/import_onnx.h"

namespace volvox::onnx_import {

// A graph over a sequence of any length, as lanes.
struct SequenceModel {
  Result<ConvertedOnnx> converted;
  // Recurrent layers go along the sequence, and so do all inputs but constants and lengths. Where not, and
  // nobody has said that there is a sequence, the graph may also be that of one step, whose states are
  // inputs.
  bool is_sure = true;
};

// Nothing: there is no recurrent layer, or none goes along an axis that is open, or that the import names.
std::optional<SequenceModel> convert_sequence(const OnnxImport& wanted, const OnnxModel& model);

}  // namespace volvox::onnx_import
