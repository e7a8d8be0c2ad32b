#pragma once

#include <memory>

#include "cells/unfold/unfolding.h"

namespace volvox {

// Along one sequence: every lane of the model's plan has a step for each row of the inputs.
std::shared_ptr<const Unfolding> sequence_unfolding();

}  // namespace volvox
