#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cells/model/model_definition.h"
#include "import/onnx/sequence/lane_draft.h"

namespace volvox::onnx_import {

// What lanes become in a model's definition.
struct WrittenLanes {
  std::vector<CellDefinition> cells{};
  std::vector<LaneDefinition> lanes{};
  std::vector<SequenceDefinition> sequences{};
  std::vector<CellWriter::Weight> weights{};
  std::string report{};  // a line for each lane
};

// Without those of which nothing comes out, each after those that it reads. `inputs`: the model's, by number.
WrittenLanes write_lanes(const std::vector<std::unique_ptr<LaneDraft>>& drafts,
                         const std::vector<std::string>& inputs);

}  // namespace volvox::onnx_import
