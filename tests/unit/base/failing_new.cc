#include "tests/unit/base/failing_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int left = 0;  // allocations until the one that fails, itself counted; 0: none will

}  // namespace

namespace volvox::test {

FailingNew::FailingNew(int nth) {
  left = nth + 1;
}
FailingNew::~FailingNew() {
  left = 0;
}
bool FailingNew::failed() {
  return left == 0;
}

}  // namespace volvox::test

#if !VOLVOX_SANITIZED
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (left > 0 && --left == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
