#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace volvox {

// What the candidates say that lead to the best one at the end (OutputSpec::path): of rows of i32 [2,
// candidates], one for each step, of which the first half names a candidate of the row before for each, and
// the second half says something for each, the best first. One for each row. A name outside is that of the
// nearest.
std::vector<std::int32_t> best_path(std::span<const std::byte> rows, std::size_t candidates);

}  // namespace volvox
