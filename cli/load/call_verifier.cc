#include "cli/load/call_verifier.h"

#include <cstring>
#include <utility>

#include "batching/policy/policies.h"
#include "cells/unfold/unfolding.h"
#include "cpu/cpu_device.h"
#include "repository/repository.h"
#include "simulation/chains.h"
#include "simulation/engine.h"

namespace volvox {

Result<std::unique_ptr<CallVerifier>> CallVerifier::load(const std::string& folder, std::uint32_t version) {
  auto model = load_model(folder, {.version = version});
  if (!model) return tl::unexpected(model.error());
  const bool fits = (*model)->unfolding->takes(**model) == "chain" && (*model)->inputs.size() == 1 &&
                    (*model)->inputs.front().dtype == DType::kF32;
  if (!fits)
    return invalid("model '" + (*model)->name +
                   "' is not over chains of one f32 input, as a model of calls is");
  std::unique_ptr<CallVerifier> verifier(new CallVerifier(std::move(*model)));
  auto device = cpu::CpuDevice::make({});
  if (!device) return tl::unexpected(device.error());
  verifier->device_ = std::move(*device);
  auto installed = install(*verifier->device_, {&verifier->model_, 1}, {});
  if (!installed) return tl::unexpected(installed.error());
  verifier->installation_ = std::move(*installed);
  return verifier;
}

Result<std::vector<std::vector<std::byte>>> CallVerifier::run(std::span<const float> rows,
                                                              std::uint32_t frames) {
  const InstalledModel& installed = *installation_.models.front();
  const SchedulerConfig config = scheduler_config(installation_, 1);
  auto engine = Engine::make(*device_, config, make_cellular_policy(config), queue_config(config, 1));
  if (!engine) return tl::unexpected(engine.error());
  const auto bytes = std::as_bytes(rows);
  const ChainContent content{.length = frames, .inputs = {{bytes.begin(), bytes.end()}}};
  const auto lengths = lengths_of(*model_, content);
  if (!lengths) return tl::unexpected(lengths.error());
  const auto answers = run_chains(**engine, *device_, installed, {&content, 1}, 1);
  if (!answers) return tl::unexpected(answers.error());
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
    const std::byte* at = answers->front().data() + result_offset(installed, *lengths, i);
    outputs.emplace_back(at, at + row_bytes(model_->outputs[i]) * result_rows(installed, *lengths, i));
  }
  return outputs;
}

}  // namespace volvox
