#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cells/ir/cell_builder.h"
#include "cells/model/model.h"
#include "cells/unfold/sequence.h"

namespace volvox {

// A chain of one cell that counts its steps in a state of `width` numbers; batches of at most 8.
inline std::shared_ptr<const Model> counter(const std::string& name, std::int64_t width = 16) {
  CellBuilder b("count");
  b.state({"n", {width}, DType::kF32, 0.0});
  const ValueId n = b.add(b.gather(0, "n"), b.pull("x", DType::kF32, {width}));
  b.scatter("n", n);
  b.push("n", n);
  auto model = std::make_shared<Model>();
  model->name = name;
  model->types = {{.name = "count", .cell = b.build().value(), .max_batch = 8}};
  model->pools = {{model->types[0].cell.states}};
  LaneSpec lane;
  lane.edges = {{0, 0, -1, 1, false, false, LaneEdge::kNone}};
  lane.ring = 2;
  lane.pulls[0] = 0;
  lane.pushes[0] = {0, false};
  model->plan.lanes = {lane};
  model->unfolding = sequence_unfolding();
  model->inputs = {{.name = "x", .dtype = DType::kF32, .shape = {width}}};
  model->outputs = {{.name = "n", .dtype = DType::kF32, .shape = {width}}};
  return model;
}

}  // namespace volvox
