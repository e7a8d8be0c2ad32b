#pragma once

#include "tests/sanitized.h"

namespace volvox::test {

// While one lives, the `nth` allocation by operator new in this thread, counted from 0, finds no memory.
// Needs failing_new in the program.
class FailingNew {
 public:
  explicit FailingNew(int nth);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // A sanitizer has an operator new of its own, which finds memory always.
  static constexpr bool kWorks = !kSanitized;

  // Whether that allocation has been asked for.
  static bool failed();
};

}  // namespace volvox::test
