// Stands in for everything here in a build without ONNX.

#include "import/onnx/import_onnx.h"

namespace volvox {

static tl::unexpected<Error> not_here() {
  return fail(ErrorCode::kUnavailable,
              "this build reads no ONNX: install libonnx-dev, libprotobuf-dev and protobuf-compiler "
              "(deploy/install-deps.sh does), then configure and build again");
}

Result<ConvertedOnnx> convert_onnx(const OnnxImport&, std::span<const std::byte>) {
  return not_here();
}

Result<std::string> import_onnx(const OnnxImport&) {
  return not_here();
}

std::string onnx_operator_table() {
  return {};
}

}  // namespace volvox
