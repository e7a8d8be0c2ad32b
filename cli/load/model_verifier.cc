#include "cli/load/model_verifier.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace volvox {
namespace {

std::string compare_output(const OutputSpec& spec, const WireTensor& output,
                           const ReferenceOutput& reference) {
  if (spec.dtype == DType::kF32) {
    const auto values = output.values<float>();
    return values ? compare_with_reference(*values, reference.reals) : values.error().message;
  }
  const WireType type = spec.dtype == DType::kU64 ? WireType::kU64 : WireType::kI32;
  if (output.type != type) return "is of type " + std::string(to_string(output.type));
  return std::ranges::equal(output.bytes, reference.bytes) ? std::string()
                                                           : "is not bit for bit the reference";
}

}  // namespace

Result<std::unique_ptr<ModelVerifier>> ModelVerifier::make(std::shared_ptr<const Model> model) {
  auto reference = Reference::make(model);
  if (!reference) return tl::unexpected(reference.error());
  return std::unique_ptr<ModelVerifier>(new ModelVerifier(std::move(model), std::move(*reference)));
}

Status ModelVerifier::can_be_loaded() const {
  const auto is_token_row = [](const InputSpec& input) {
    return input.dtype == DType::kI32 && elements(input.shape) == 1;
  };
  // Inputs beside the first have rows of their own where the structure says of what.
  const bool several = takes() == "lattice" || takes() == "sequences" || takes() == "chain";
  if ((several || model_->inputs.size() <= 1) && std::ranges::all_of(model_->inputs, is_token_row)) return {};
  if (!row_shape().empty()) return {};
  return invalid(
      "model '" + model_->name +
      "' takes more than rows of token ids, or of f32 along one sequence; a load of such cannot be "
      "made");
}

std::vector<std::uint32_t> ModelVerifier::row_shape() const {
  if (takes() != "chain" || model_->inputs.size() != 1 || model_->inputs[0].dtype != DType::kF32) return {};
  return {model_->inputs[0].shape.begin(), model_->inputs[0].shape.end()};
}

std::string ModelVerifier::input() const {
  std::string names;
  for (const InputSpec& input : model_->inputs) names.append(names.empty() ? "" : ",").append(input.name);
  return names;
}

std::int64_t ModelVerifier::vocabulary(std::size_t input) const {
  return input < model_->inputs.size() ? model_->inputs[input].vocabulary : 0;
}

bool ModelVerifier::exact() const {
  return std::ranges::none_of(model_->outputs,
                              [](const OutputSpec& spec) { return spec.dtype == DType::kF32; });
}

Result<std::string> ModelVerifier::check(const RequestContent& content, const ReplyBody& answer) {
  std::vector<std::span<const std::byte>> inputs;
  if (!model_->inputs.empty()) inputs.push_back(first_input(content));
  for (const auto& rows : content.more) inputs.push_back(std::as_bytes(std::span(rows)));
  return compare(inputs, structure_of(content), answer);
}

Result<std::string> ModelVerifier::check(const RequestBody& request, const ReplyBody& answer) {
  std::vector<std::span<const std::byte>> inputs;
  for (const InputSpec& spec : model_->inputs) {
    const auto given = std::ranges::find(request.inputs, spec.name, &WireTensor::name);
    if (given == request.inputs.end()) return invalid("the request lacks the input '" + spec.name + "'");
    inputs.push_back(given->bytes);
  }
  return compare(inputs, request.structure, answer);
}

Result<std::string> ModelVerifier::compare(std::span<const std::span<const std::byte>> inputs,
                                           const Structure& structure, const ReplyBody& answer) {
  if (answer.outputs.size() != model_->outputs.size()) {
    return "has " + std::to_string(answer.outputs.size()) + " outputs instead of " +
           std::to_string(model_->outputs.size());
  }
  if (model_->outputs.empty()) return std::string();
  const auto reference = reference_.run(inputs, structure);
  if (!reference) return tl::unexpected(reference.error());
  for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
    const OutputSpec& spec = model_->outputs[i];
    const WireTensor* output = answer.find(spec.name);
    if (output == nullptr) return "lacks the output '" + spec.name + "'";
    const std::string complaint = compare_output(spec, *output, (*reference)[i]);
    if (!complaint.empty()) return "'" + spec.name + "' " + complaint;
  }
  return std::string();
}

}  // namespace volvox
