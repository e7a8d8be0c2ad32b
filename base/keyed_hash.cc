#include "base/keyed_hash.h"

#include <cstring>

namespace volvox {

KeyedHash::KeyedHash(HashKey key)
    : v0_(key.lo ^ 0x736f6d6570736575ULL),
      v1_(key.hi ^ 0x646f72616e646f6dULL ^ 0xee),
      v2_(key.lo ^ 0x6c7967656e657261ULL),
      v3_(key.hi ^ 0x7465646279746573ULL) {}

void KeyedHash::add(std::span<const std::byte> bytes) {
  KeyedHash hash = *this;  // whose members live in registers
  hash.add(std::uint64_t{bytes.size()});
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof word; bytes = bytes.subspan(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    hash.add(word);
  }
  if (!bytes.empty()) {
    word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    hash.add(word);
  }
  *this = hash;
}

Digest KeyedHash::digest() const {
  KeyedHash end = *this;
  end.add(words_ * 8 << 56);
  const auto half = [&end] {
    for (int i = 0; i < 3; ++i) end.round();
    return end.v0_ ^ end.v1_ ^ end.v2_ ^ end.v3_;
  };
  Digest digest;
  end.v2_ ^= 0xee;
  digest.lo = half();
  end.v1_ ^= 0xdd;
  digest.hi = half();
  return digest;
}

}  // namespace volvox
