#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/fold.h"
#include "cells/model/model.h"
#include "config/schema.h"

namespace volvox {

// Reads one version of a model from wherever models lie; version 0: the newest. Called by one thread.
using ModelSource = std::function<Result<std::shared_ptr<const Model>>(const std::string&, std::uint32_t)>;

// The repository that the configuration names. Models are called as their folders are. `folding` computes
// their folded tables; empty: there are none.
ModelSource repository_source(const ServeConfig& config, const FoldRows& folding);

struct LoadedRepository {
  std::vector<std::shared_ptr<const Model>> models;
  std::uint32_t skipped = 0;  // versions that could not be loaded, as the log says
};

// Every version of every model there. One that cannot be loaded is an error, unless server.bad_models says to
// skip it. A repository with no model that can be served is an error that says how to fill it.
Result<LoadedRepository> load_repository(const ServeConfig& config, const FoldRows& folding);

}  // namespace volvox
