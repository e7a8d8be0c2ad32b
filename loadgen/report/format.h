#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "base/time.h"

namespace volvox {

// As reports show a duration.
inline double in_ms(Duration duration) {
  return static_cast<double>(duration.count()) * 1e-6;
}

// A piece of a report, as printf() writes it; at most 600 characters.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 600> text{};
  return std::snprintf(text.data(), text.size(), format, values...) > 0 ? std::string(text.data())
                                                                        : std::string();
}

}  // namespace volvox
