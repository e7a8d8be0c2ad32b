#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"
#include "cells/model/model_definition.h"
#include "repository/model_writer.h"

namespace volvox {

// Brings a model in: the graph of an ONNX file becomes a cell, of which one step is one row of the model's
// input. An output that goes into an input of the next step is a state, and with it the model is a recurrent
// one; then requests of any length and sessions run it. A graph with recurrent layers along a sequence of any
// length becomes lanes instead (docs/import.md).
struct OnnxImport {
  std::filesystem::path file{};
  std::map<std::string, std::vector<double>> constants{};  // inputs that are the same for everybody
  std::map<std::string, Shape> shapes{};                   // of inputs, where the file leaves them open
  // Of inputs of which a step's row brings the newest samples only, along the first axis that is longer
  // than 1.
  struct Window {
    std::int64_t samples = 0, hop = 0;
  };
  std::map<std::string, Window> windows{};
  std::vector<std::pair<std::string, std::string>> states{};  // input, output; beside those that are found
  bool find_states = true;
  // Inputs whose steps are those of a sequence of any length, and which axis these are along; without an axis
  // it is found. Where none is said, an axis that the file leaves open is one if recurrent layers go along
  // it.
  std::map<std::string, std::optional<std::size_t>> sequences{};
  std::vector<std::string> outputs{};  // which to keep; none: all that are no states
  std::uint32_t max_length = 0;        // steps of a request, at most; 0: as many as can be
  NewModel model{};                    // where it is written
};

// What a file becomes: a definition with its cell, and the weights, whose names and shapes are those of the
// cell's operators. Checked as a server does when it loads a model.
struct ConvertedOnnx {
  struct Weight {
    std::string name{};
    Shape shape{};
    std::shared_ptr<const std::vector<float>> numbers{};
  };
  ModelDefinition definition{};
  std::vector<Weight> weights{};
  std::string report{};  // what was done, in lines for a person
};

// Of a file's bytes; nothing is read or written, `import.file` stands in errors. Any bytes may come.
Result<ConvertedOnnx> convert_onnx(const OnnxImport& import, std::span<const std::byte> bytes);

// Writes the model's folder and returns what was done, in lines for a person. A file that cannot be imported
// is an error that names the node and why. kUnavailable: this build has no ONNX; the error says what to
// install.
Result<std::string> import_onnx(const OnnxImport& import);

// The operators of ONNX that are read, with what each does not take: a table for people, in their order.
std::string onnx_operator_table();

}  // namespace volvox
