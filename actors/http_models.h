#pragma once

#include <span>

#include "actors/node.h"
#include "monitoring/engine_snapshot.h"
#include "protocol/v2/describe.h"

namespace volvox {

// What the Open Inference Protocol wants to know of an installed model. Pure.

// Every input has a row for each step; an output has one, too, or is the last step's alone.
V2ModelMetadata metadata_of(const Catalog& catalog, const Model& model);
V2Statistics statistics_of(const Node& node, const InstalledModel& model,
                           std::span<const EngineSnapshot> engines);

}  // namespace volvox
