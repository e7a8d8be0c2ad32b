#include "base/keyed_hash.h"

#include <algorithm>
#include <cstring>

namespace volvox {

namespace {

// Shorter ones are as fast word by word.
constexpr std::size_t kPairBytes = 2 * sizeof(std::uint64_t), kLeastBlockBytes = 4 * kPairBytes;

__extension__ using Wide = unsigned __int128;

std::uint64_t word_at(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

HashKey::HashKey(std::uint64_t lo, std::uint64_t hi) : lo_(lo), hi_(hi) {
  for (std::size_t i = 0; i < block_.size(); i += 2) {
    KeyedHash hash(*this);
    hash.add(std::uint64_t{i});
    const Digest digest = hash.digest();
    block_[i] = digest.lo;
    block_[i + 1] = digest.hi;
  }
}

KeyedHash::KeyedHash(const HashKey& key)
    : key_(&key),
      v0_(key.lo_ ^ 0x736f6d6570736575ULL),
      v1_(key.hi_ ^ 0x646f72616e646f6dULL ^ 0xee),
      v2_(key.lo_ ^ 0x6c7967656e657261ULL),
      v3_(key.hi_ ^ 0x7465646279746573ULL) {}

void KeyedHash::add(std::span<const std::byte> bytes) {
  KeyedHash hash = *this;  // whose members live in registers
  hash.add(std::uint64_t{bytes.size()});
  while (bytes.size() >= kLeastBlockBytes) {
    const std::size_t pairs = std::min(HashKey::kBlockWords / 2, bytes.size() / kPairBytes);
    hash.add_block(bytes.first(pairs * kPairBytes));
    bytes = bytes.subspan(pairs * kPairBytes);
  }
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t)))
    hash.add(word_at(bytes.data()));
  if (!bytes.empty()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    hash.add(word);
  }
  *this = hash;
}

void KeyedHash::add_block(std::span<const std::byte> bytes) {
  const std::uint64_t* key = key_->block_.data();
  Wide sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kPairBytes, key += 2) {
    const std::byte* const pair = bytes.data() + at;
    sum += Wide{word_at(pair) + key[0]} * Wide{word_at(pair + sizeof(std::uint64_t)) + key[1]};
  }
  add(static_cast<std::uint64_t>(sum));
  add(static_cast<std::uint64_t>(sum >> 64));
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
