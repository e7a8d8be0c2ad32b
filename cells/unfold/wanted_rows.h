#pragma once

#include <algorithm>
#include <span>

#include "cells/ir/lane_plan.h"
#include "cells/model/model.h"
#include "cells/unfold/unfolding.h"

namespace volvox {

// Which nodes of a request's graph write results.
struct WantedRows {
  bool any = false;    // some node does: the last one, unless `every`
  bool every = false;  // each writes a row of its own
};

inline WantedRows wanted_rows(std::span<const LanePush> pushes) {
  WantedRows wanted;
  for (const LanePush& push : pushes) {
    if (push.output == LanePush::kNowhere) continue;
    wanted.any = true;
    wanted.every = wanted.every || push.every;
  }
  return wanted;
}

// A node writes all outputs or none. `whose`, in the error, is "a tree", and `last` "the root's".
inline Status check_rows_alike(const Model& model, const std::string& whose, const std::string& last) {
  const bool alike = std::all_of(model.outputs.begin(), model.outputs.end(), [&](const OutputSpec& output) {
    return output.every == model.outputs.front().every;
  });
  if (alike) return {};
  return model_error(model,
                     whose + " answers with all rows of every output, or with " + last + " of every one");
}

}  // namespace volvox
