#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"

namespace volvox {

// How a request ended, as counters are numbered: 0 with a result, else the error's own number.
inline constexpr std::size_t kOutcomes = 1 + static_cast<std::size_t>(ErrorCode::kInternal);

// A number that is not known counts as INTERNAL.
std::size_t outcome_of(std::optional<ErrorCode> error);
// "ok", or the error's name in lower case: the value of the label `outcome`.
std::string outcome_label(std::size_t outcome);

}  // namespace volvox
