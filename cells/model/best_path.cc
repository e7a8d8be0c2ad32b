#include "cells/model/best_path.h"

#include <algorithm>
#include <cstring>

namespace volvox {

std::vector<std::int32_t> best_path(std::span<const std::byte> rows, std::size_t candidates) {
  const auto number = [&](std::size_t at) {
    std::int32_t read = 0;
    std::memcpy(&read, rows.data() + at * sizeof read, sizeof read);
    return read;
  };
  const std::size_t width = 2 * candidates;
  std::vector<std::int32_t> said(rows.size() / (width * sizeof(std::int32_t)));
  std::size_t candidate = 0;
  for (std::size_t row = said.size(); row-- > 0;) {
    said[row] = number(row * width + candidates + candidate);
    const std::int64_t before = number(row * width + candidate);
    candidate = static_cast<std::size_t>(
        std::clamp<std::int64_t>(before, 0, static_cast<std::int64_t>(candidates) - 1));
  }
  return said;
}

}  // namespace volvox
