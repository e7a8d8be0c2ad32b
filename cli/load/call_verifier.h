#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/model/model.h"
#include "device/device.h"
#include "install/installation.h"

namespace volvox {

// The right answers to calls, bit for bit: the model by itself on this machine's processor, each call as one
// request that stands alone. A server's answers have the same bits whatever they were batched with, if it
// computes on processors. For models of chains with one f32 input. One thread.
class CallVerifier {
 public:
  // INVALID_ARGUMENT for a model that takes something else, or whose folder cannot be read. `version` 0: the
  // newest.
  static Result<std::unique_ptr<CallVerifier>> load(const std::string& folder, std::uint32_t version);

  const Model& model() const { return *model_; }
  const InputSpec& input() const { return model_->inputs.front(); }

  // As CallModel: INVALID_ARGUMENT past the model's longest request.
  Result<std::vector<std::vector<std::byte>>> run(std::span<const float> rows, std::uint32_t frames);

 private:
  explicit CallVerifier(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Device> device_;
  Installation installation_;
};

}  // namespace volvox
