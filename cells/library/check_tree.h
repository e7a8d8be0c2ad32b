#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// The cell `check` over trees: state = check_hash(0, token), mixed with the children's states in their order.
// Pulls "token" (i32), gathers "state" (u64) of all children, pushes and scatters "state".
Result<Cell> check_tree_cell(std::string_view name);

}  // namespace volvox
