#pragma once

namespace volvox::test {

// While one lives, the `nth` allocation by operator new in this thread, counted from 0, finds no memory.
// Needs failing_new.cc in the program.
class FailingNew {
 public:
  explicit FailingNew(int nth);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // Whether that allocation has been asked for.
  static bool failed();
};

}  // namespace volvox::test
