#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"

namespace volvox {

// What `run` says of a task that it computes. INTERNAL where it throws, for want of memory too: on a device's
// own thread that fails the queue and not the process.
template <class Run>
Status guarded_task(Run&& run) {
  try {
    return std::forward<Run>(run)();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInternal, "out of memory");  // words short enough to need none
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInternal, std::string("task failed: ") + e.what());
  }
}

}  // namespace volvox
