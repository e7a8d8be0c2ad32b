#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/keyed_hash.h"

namespace volvox {

// What a part of a session asks for, as its model understands it. However a client has written that down
// (inputs in another order, outputs named or left out, numbers as text), the same is the same.
struct PartContent {
  std::uint32_t steps = 0;
  std::span<const std::size_t> outputs;                // wanted, in the order of the answer
  std::span<const std::span<const std::byte>> inputs;  // their elements, in the model's order
};

// A repeat is told from another part that was sent in its place by this alone. Digests under one key are
// compared with each other only: the key is random, and of whoever keeps the sessions.
Digest digest_of(const PartContent& part, const HashKey& key);

}  // namespace volvox
