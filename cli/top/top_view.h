#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top/top_figures.h"

namespace volvox {

// A screen's size in characters.
struct TopSize {
  std::size_t columns = 80, rows = 24;  // 0 rows: as many as it takes
};

// What `volvox top` shows: the traffic as clients saw it, then the processes, their devices, and the cell
// types of all of them. No line is longer than the screen is wide, and there are no more than it has; what
// finds no place is counted in a line that says so. Whatever processes say of themselves is shown as
// printable ASCII. `clock`: the time, as it is to be shown.
std::vector<std::string> top_lines(std::span<const TopSight> sights, std::string_view clock, TopSize size);

}  // namespace volvox
