#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// state' = check_hash(state, token), both pushed and scattered: pulls "token" (i32), scatters "state" (u64),
// pushes "state". A lost, doubled, reordered or leaked step changes every later value.
Result<Cell> check_cell(std::string_view name);

}  // namespace volvox
