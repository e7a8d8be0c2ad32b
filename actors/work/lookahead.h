#pragma once

#include <cstddef>
#include <span>

#include "actors/work/work.h"

namespace volvox {

// Brings near what will be looked at soon, while others are.
template <class T>
void fetch(const T* object) {
  constexpr std::size_t kLine = 64;
  const char* const begin = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T) + kLine - 1; at += kLine) __builtin_prefetch(begin + at, 1);
}

// Before number `i` of works that came together is looked at: another core has made them, or they have waited
// for so long that no cache holds them, and whoever only then asks for each line of them waits for each.
inline void look_ahead(std::span<const WorkPtr> works, std::size_t i) {
  constexpr std::size_t kFar = 4, kNear = 2;  // the request is found in the work
  if (i + kFar < works.size()) fetch(works[i + kFar].get());
  if (i + kNear < works.size()) fetch(works[i + kNear]->shared_request().get());
}

}  // namespace volvox
