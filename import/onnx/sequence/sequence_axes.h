#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "import/onnx/graph.h"
#include "import/onnx/import_onnx.h"

namespace volvox::onnx_import {

// Along which of its axes an input has the steps of the sequence, by its name.
using SequenceAxes = std::map<std::string, std::size_t>;

// Which axes may be those of the sequence, one guess after another: those that the file leaves open, with all
// inputs that have an axis of the same name; and known ones, where the import names them or the graph loops.
// None for a graph without recurrent layers, convolutions, attention and loops.
std::vector<SequenceAxes> guess_sequences(const OnnxImport& wanted, const Graph& graph);

}  // namespace volvox::onnx_import
