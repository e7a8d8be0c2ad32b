#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/onnx/cell_writer.h"
#include "import/onnx/import_onnx.h"

// What every way from a graph to a model needs.
namespace volvox::onnx_import {

// Steps of one request, at most, of a model that was imported.
inline constexpr std::uint32_t kMaxImportedLength = 65536;

// A name for model.toml.
std::string plain_name(const std::string& name);

// Numbers of TensorProto::DataType.
bool is_real_input(std::int32_t type);
bool is_whole_input(std::int32_t type);

// The shape of an input: as --shape says, which may only say what the file leaves open.
Shape given_shape(const GraphInput& input, const Shape& given);
// An input that is the same for everybody: one number is all of them. A single extent that is open is as long
// as the numbers make it. `shape`: what --shape says of it, or null.
Quantity given_constant(const GraphInput& input, const Shape* shape, const std::vector<double>& numbers);

// The weights of a model, as they are written.
void add_weights(ConvertedOnnx& converted, std::vector<CellWriter::Weight> weights);
// "weights: 3 tensors, 120 numbers", a line.
std::string report_of(const std::vector<CellWriter::Weight>& weights);
// "opset 13, written by pytorch: ", the beginning of a line.
std::string origin_of(const OnnxModel& model);

// As a server will, when it loads the model.
Status check(const ConvertedOnnx& converted);

}  // namespace volvox::onnx_import
