#pragma once

#include <memory>

#include "cells/unfold/unfolding.h"

namespace volvox {

// Along sequences: every lane of the model's plan has the steps of one of Model::sequences.
std::shared_ptr<const Unfolding> sequence_unfolding();

}  // namespace volvox
