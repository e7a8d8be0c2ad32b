#include "base/keyed_hash.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

const HashKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Digest of(std::initializer_list<std::string_view> texts, const HashKey& key = kKey) {
  KeyedHash hash(key);
  for (const std::string_view text : texts) hash.add(bytes(text));
  return hash.digest();
}

// From OpenSSL 3: `openssl mac -macopt size:16 -macopt c-rounds:1 -macopt d-rounds:3 SipHash`, of the bytes
// 0, 1, 2 … under the key 00 01 … 0f; byte by byte.
TEST(KeyedHash, IsSipHashOfItsWords) {
  const std::array<std::array<unsigned char, 16>, 3> expected{
      {{0xe7, 0x7e, 0xbc, 0xb2, 0x27, 0x88, 0xa5, 0xbe, 0xfd, 0x62, 0xdb, 0x6a, 0xdd, 0x30, 0x30, 0x01},
       {0xaa, 0x12, 0xfe, 0xe1, 0xd5, 0xe3, 0xda, 0xb4, 0x72, 0x4f, 0x16, 0xab, 0x35, 0xf9, 0xc7, 0x99},
       {0xd0, 0xa8, 0xd9, 0x57, 0x15, 0x51, 0x8e, 0xeb, 0xb5, 0x13, 0xb0, 0xf8, 0x3d, 0x9e, 0x17, 0x93}}};
  KeyedHash hash(kKey);
  for (std::size_t words = 0; words < expected.size(); ++words) {
    Digest wanted;
    std::memcpy(&wanted.lo, expected[words].data(), 8);
    std::memcpy(&wanted.hi, expected[words].data() + 8, 8);
    EXPECT_EQ(hash.digest(), wanted) << words << " words";
    hash.add(0x0706050403020100 + 0x0808080808080808 * words);
  }
}

TEST(KeyedHash, EveryByteCountsAndWhereATextEnds) {
  const std::vector<Digest> digests{of({}),
                                    of({""}),
                                    of({"", ""}),
                                    of({"a"}),
                                    of({std::string_view("a\0", 2)}),
                                    of({"abcdefgh"}),
                                    of({"abcdefghi"}),
                                    of({"abcdefgh", "i"}),
                                    of({"abcdefg", "hi"}),
                                    of({"abcdefgi", "h"}),
                                    of({"abcdefgh"}, {1, 2}),
                                    of({"abcdefgh"}, {2, 1})};
  std::set<std::pair<std::uint64_t, std::uint64_t>> distinct;
  for (const Digest& digest : digests) distinct.emplace(digest.lo, digest.hi);
  EXPECT_EQ(distinct.size(), digests.size());
  EXPECT_EQ(of({"abcdefghijk", "l"}), of({"abcdefghijk", "l"}));
}

// Texts of every length around those of blocks, each byte of them changed, and two words swapped.
TEST(KeyedHash, EveryByteOfABlockCounts) {
  std::string text;
  for (int i = 0; i < 1100; ++i) text.push_back(static_cast<char>(i * 7 + i / 256));
  std::set<std::pair<std::uint64_t, std::uint64_t>> distinct;
  std::size_t count = 0;
  const auto note = [&](std::string_view one, const HashKey& key) {
    const Digest digest = of({one}, key);
    distinct.emplace(digest.lo, digest.hi);
    ++count;
  };
  for (std::size_t length = 0; length <= text.size(); ++length)
    note(std::string_view(text).substr(0, length), kKey);
  for (char& byte : text) {
    byte = static_cast<char>(byte ^ 0x10);
    note(text, kKey);
    byte = static_cast<char>(byte ^ 0x10);
  }
  note(text, {1, 2});
  for (std::size_t at = 0; at + 16 <= text.size(); at += 8) {
    std::string swapped = text;
    std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                     swapped.begin() + static_cast<std::ptrdiff_t>(at + 8),
                     swapped.begin() + static_cast<std::ptrdiff_t>(at + 8));
    note(swapped, kKey);
  }
  EXPECT_EQ(distinct.size(), count);
}

// One bit of 64 KiB changes about half of the digest's.
TEST(KeyedHash, OneBitChangesHalfOfTheDigest) {
  std::vector<std::byte> text(1U << 16);
  const auto digest = [&] {
    KeyedHash hash(kKey);
    hash.add(text);
    return hash.digest();
  };
  const Digest before = digest();
  for (std::size_t bit = 0; bit < 8 * text.size(); bit += 12'347) {
    text[bit / 8] ^= std::byte(1U << bit % 8);
    const Digest after = digest();
    const int changed = std::popcount(before.lo ^ after.lo) + std::popcount(before.hi ^ after.hi);
    EXPECT_GT(changed, 32) << bit;
    EXPECT_LT(changed, 96) << bit;
    text[bit / 8] ^= std::byte(1U << bit % 8);
  }
  EXPECT_EQ(digest(), before);
}

}  // namespace
}  // namespace volvox
