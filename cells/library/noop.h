#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Nothing at all: reads nothing, publishes nothing, emits nothing. What is left is the way there and back.
Result<Cell> noop_cell(std::string_view name);

}  // namespace volvox
