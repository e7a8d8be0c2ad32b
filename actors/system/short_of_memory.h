#pragma once

#include <new>

#include "base/error.h"

namespace volvox {

// What make() makes, or the error that says that there was no memory for it. For what may be large: the short
// word in its place finds some.
template <class Make>
auto unless_short_of_memory(const char* otherwise, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInternal, otherwise);
  }
}

}  // namespace volvox
