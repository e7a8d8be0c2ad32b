#pragma once

#include <memory>

#include "cells/unfold/unfolding.h"

namespace volvox {

// Along a sequence: the lanes of the model's plan, each a step for every row of the inputs.
std::shared_ptr<const Unfolding> chain_unfolding();

}  // namespace volvox
