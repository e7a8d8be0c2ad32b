#include "serving/part_content.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

// A part with one or two inputs.
struct Part {
  std::uint32_t steps = 2;
  std::vector<std::size_t> outputs{0, 1};
  std::vector<std::vector<std::int32_t>> inputs{{1, 2}, {3, 4}};

  Digest digest(const HashKey& key = {1, 2}) const {
    std::vector<std::span<const std::byte>> bytes;
    for (const auto& input : inputs) bytes.push_back(std::as_bytes(std::span(input)));
    return digest_of({steps, outputs, bytes}, key);
  }
};

TEST(PartContent, TheSameIsTheSame) {
  EXPECT_EQ(Part{}.digest(), Part{}.digest());
  EXPECT_FALSE(Part{}.digest({3, 4}) == Part{}.digest()) << "under another key";
}

TEST(PartContent, WhateverDiffersIsSomethingElse) {
  std::vector<Part> parts(8);
  parts[1].steps = 3;
  parts[2].outputs = {1, 0};
  parts[3].outputs = {0};
  parts[4].inputs = {{1, 2}, {3, 5}};
  parts[5].inputs = {{3, 4}, {1, 2}};
  parts[6].inputs = {{1, 2, 3, 4}};
  parts[7].inputs = {{1, 2, 3}, {4}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(parts[i].digest() == parts[j].digest()) << i << ", " << j;
  }
}

}  // namespace
}  // namespace volvox
