#pragma once

#include <cstddef>

#include "actors/work/work.h"

namespace volvox {

// Brings near what will be looked at soon, while others are.
template <class T>
void fetch(const T* object) {
  constexpr std::size_t kLine = 64;
  const char* const begin = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T) + kLine - 1; at += kLine) __builtin_prefetch(begin + at, 1);
}

// Gives each of works that came together to `use`, which may take it, and fetches those that come next:
// another core has made them, or they have waited for so long that no cache holds them, and whoever only then
// asks for each line of them waits for each.
template <class Works, class Use>
void for_each_ahead(Works& works, Use use) {
  constexpr std::size_t kFar = 4, kNear = 2;  // the request is found in the work
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (i + kFar < works.size()) fetch(works[i + kFar].get());
    if (i + kNear < works.size()) fetch(works[i + kNear]->shared_request().get());
    use(works[i]);
  }
}

}  // namespace volvox
