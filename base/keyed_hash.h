#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace volvox {

// 128 bits that stand for a text.
struct Digest {
  std::uint64_t lo = 0, hi = 0;
  bool operator==(const Digest&) const = default;
};

// Random, and known to nobody else. Making one takes about a microsecond.
class HashKey {
 public:
  HashKey(std::uint64_t lo, std::uint64_t hi);

 private:
  friend class KeyedHash;
  static constexpr std::size_t kBlockWords = 64;

  std::uint64_t lo_, hi_;
  std::array<std::uint64_t, kBlockWords> block_{};  // a key as long as a block of a text, made of these
};

// Clients choose what they send, so a plain hash would let them look for two texts with one digest. This is
// SipHash-1-3 with 128 bits (Aumasson, Bernstein) of a sequence of 64-bit words: who does not know the key
// and sees no digest can only guess. A nanosecond or two for each word; so of longer texts blocks of 512
// bytes become two words each before, by NH with words of 64 bits (Black and others, "UMAC", CRYPTO'99,
// section 4; Krovetz and Dai, VMAC): two texts of one length have the same ones with a chance of 2^-64 at
// most.
class KeyedHash {
 public:
  // The key must outlive it.
  explicit KeyedHash(const HashKey& key);

  void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    v0_ ^= word;
    ++words_;
  }
  // Their number, then the bytes; zeros fill the last word. So no two sequences of such calls give the same
  // words unless they are the same, or their longer texts collide as above.
  void add(std::span<const std::byte> bytes);
  // Of all words so far. More may be added afterwards.
  Digest digest() const;

 private:
  void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  void add_block(std::span<const std::byte> bytes);

  const HashKey* key_;
  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t words_ = 0;
};

}  // namespace volvox
