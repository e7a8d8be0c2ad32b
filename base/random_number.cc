#include "base/random_number.h"

#include <algorithm>

#include <sys/random.h>

namespace volvox {

Result<std::uint64_t> random_bits() {
  std::uint64_t bits = 0;
  if (getentropy(&bits, sizeof bits) == 0) return bits;
  return fail(ErrorCode::kInternal,
              "the kernel has no random numbers; ask again when the machine has started");
}

Result<std::uint64_t> random_identity() {
  return random_bits().map([](std::uint64_t bits) { return std::max<std::uint64_t>(bits, 1); });
}

}  // namespace volvox
