#include "cli/model_verifier.h"

#include <algorithm>
#include <utility>

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
  const auto is_token_row = [](const InputSpec& input) {
    return input.dtype == DType::kI32 && elements(input.shape) == 1;
  };
  if (model->inputs.size() > 1 || !std::ranges::all_of(model->inputs, is_token_row)) {
    return invalid("model '" + model->name +
                   "' takes more than a row of token ids; a load of such cannot be made");
  }
  auto reference = Reference::make(model);
  if (!reference) return tl::unexpected(reference.error());
  return std::unique_ptr<ModelVerifier>(new ModelVerifier(std::move(model), std::move(*reference)));
}

std::string ModelVerifier::input() const {
  return model_->inputs.empty() ? std::string() : model_->inputs[0].name;
}

std::int64_t ModelVerifier::vocabulary() const {
  return model_->inputs.empty() ? 0 : model_->inputs[0].vocabulary;
}

bool ModelVerifier::exact() const {
  return std::ranges::none_of(model_->outputs,
                              [](const OutputSpec& spec) { return spec.dtype == DType::kF32; });
}

Result<std::string> ModelVerifier::check(const RequestContent& content, const ReplyBody& answer) {
  if (answer.outputs.size() != model_->outputs.size()) {
    return "has " + std::to_string(answer.outputs.size()) + " outputs instead of " +
           std::to_string(model_->outputs.size());
  }
  if (model_->outputs.empty()) return std::string();
  const auto steps = static_cast<std::uint32_t>(content.tokens.size());
  const Structure structure =
      content.parents.empty() ? Structure(ChainStructure{steps}) : Structure(TreeStructure{content.parents});
  const auto reference = reference_.run(content.tokens, structure);
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
