#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace volvox::cpu {

// Where operators are not cut apart.
inline constexpr std::size_t kNoCut = std::numeric_limits<std::size_t>::max();

// Cuts operators that run one after another into stages, each of which reads at most `most` bytes of weights,
// unless one operator reads more: all rows of a task go through a stage while its weights stay in a cache.
// `weights` is what each operator reads, for any number of rows; crossing[i] what operators before the i-th
// make of a row for it and those behind it, in whatever unit. Returns where the stages begin; the first is 0.
// Each cut is the one of the last half of what fits that the least crosses, or before the operator that does
// not fit. Takes linear time.
std::vector<std::size_t> cut_stages(std::span<const std::size_t> weights,
                                    std::span<const std::size_t> crossing, std::size_t most);

}  // namespace volvox::cpu
