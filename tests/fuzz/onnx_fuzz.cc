// An ONNX file: it is refused by a typed error, or becomes a model that would be served, of one step or,
// where nothing says how long its sequence is, of lanes.

#include "import/onnx/import_onnx.h"
#include "tests/fuzz/parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox;
  const OnnxImport step{.file = "x.onnx", .constants = {{"sr", {16000}}}, .shapes = {{"x", {1, 3}}}};
  const OnnxImport sequence{.file = "x.onnx"};
  for (const OnnxImport* import : {&step, &sequence}) {
    const auto made = convert_onnx(*import, std::as_bytes(std::span(data, size)));
    if (!made) fuzz::require_refusal(made.error());
  }
  return 0;
}
