// A model.toml and a safetensors file, as load_model() takes them from a folder: they are refused by a typed
// error, or make a model that answers a request.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "cells/model/assemble.h"
#include "cells/model/model_definition.h"
#include "cells/model/reference.h"
#include "cells/unfold/unfolding.h"
#include "repository/model_toml.h"
#include "repository/safetensors.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

constexpr std::size_t kMaxRowBytes = 4096;

// In memory of its own and of its exact size, so that AddressSanitizer sees a read beyond its end.
Result<Weights> read_weights(Bytes bytes) {
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return parse_safetensors({copy.get(), bytes.size()}, copy, "weights.safetensors");
}

// Two steps of zeros, or a tree of three nodes, where a row is small enough to be worth it.
void answer(const Model& model) {
  constexpr std::array<std::int32_t, 3> kParents{2, 2, -1};
  const bool tree = model.unfolding->takes(model).ends_with("tree");
  const Structure structure = tree ? Structure(TreeStructure{kParents}) : Structure(ChainStructure{2});
  const auto extent = model.unfolding->check(structure, model);
  if (!extent) return require(extent.error().code == ErrorCode::kInvalidArgument, "a structure is refused");
  std::vector<std::vector<std::byte>> rows;
  for (const InputSpec& input : model.inputs) {
    const auto bytes = static_cast<std::size_t>(elements(input.shape)) * size_bytes(input.dtype);
    require(bytes > 0, "a step of an input has bytes");
    const std::size_t count = extent->lengths[input.sequence];
    if (bytes > kMaxRowBytes || model.max_length < count) return;
    rows.emplace_back(count * bytes);
  }
  std::vector<Bytes> inputs(rows.begin(), rows.end());
  auto reference = Reference::make(std::make_shared<const Model>(model));
  require(reference.has_value(), "a model that is accepted can be computed");
  const auto outputs = reference->run(inputs, structure);
  require(outputs && outputs->size() == model.outputs.size(), "zeros have an answer");
}

void check(Bytes definition_bytes, Bytes weight_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(definition_bytes.data()),
                              definition_bytes.size());
  const auto definition = parse_model_definition(text, "model.toml");
  if (!definition) require_refusal(definition.error());
  const auto weights = read_weights(weight_bytes);
  if (!weights) return require_refusal(weights.error());
  for (const auto& [name, tensor] : weights->all()) touch(tensor.bytes);
  if (!definition) return;
  for (const bool eager : {false, true}) {
    LoadOptions options;
    options.eager = eager;
    const auto model = assemble(*definition, *weights, options, "model.toml");
    if (!model) {
      require_refusal(model.error());
      continue;
    }
    require(validate(*model).has_value(), "a model that is accepted is valid");
    answer(*model);
  }
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [definition, weights] = volvox::fuzz::split(data, size);
  volvox::fuzz::check(definition, weights);
  return 0;
}
