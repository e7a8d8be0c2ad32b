#include "gpu/fused/hopper_tile.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/gpu/wavefronts.h"

// Where the LSTM step of compute capability 9.0 puts things, for all elements and all lanes of all threads.
namespace volvox::gpu::hopper {
namespace {

TEST(HopperTile, EachFactorHasOneElementOfThePackedWeights) {
  constexpr std::uint32_t kWidth = 2 * kDepth, kAll = 3 * kUnits;
  std::vector<unsigned> taken(std::size_t{4} * kAll * kWidth);
  for (std::uint32_t unit = 0; unit < kAll; ++unit) {
    for (std::uint32_t gate = 0; gate < 4; ++gate) {
      for (std::uint32_t k = 0; k < kWidth; ++k) {
        const std::uint64_t at_element = weight_at(kWidth, unit, gate, k);
        ASSERT_LT(at_element, taken.size());
        ASSERT_EQ(taken[at_element]++, 0U) << unit << ", " << gate << ", " << k;
        const std::uint64_t slab = (unit / kUnits) * (kWidth / kDepth) + k / kDepth;
        ASSERT_EQ(at_element / (kSlabBytes / 2), slab) << "a slab of a tile is one stretch of memory";
      }
    }
  }
}

// What a thread's sums are is what was packed as the columns of these sums.
TEST(HopperTile, AThreadHasAllGatesOfItsUnits) {
  for (std::uint32_t part = 0; part < kColumns / 64; ++part) {
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
      for (std::uint32_t group = 0; group < 8; ++group) {
        for (std::uint32_t pair = 0; pair < 2; ++pair) {
          const std::uint32_t unit = unit_of(part, lane, group), gate = gate_of(group, pair);
          EXPECT_EQ(column_of(unit, gate), 64 * part + 8 * group + 2 * lane + pair);
          EXPECT_EQ(unit / 4, unit_of(part, lane, 0) / 4) << "four neighbours, which one vector holds";
        }
      }
    }
  }
}

// The swizzle of wgmma's descriptors: bits 4 to 6 of an address, exclusive or bits 7 to 9.
TEST(HopperTile, VectorsLieWhereProductsLookForThem) {
  for (std::uint32_t row = 0; row < 128; ++row) {
    for (std::uint32_t vector = 0; vector < 8; ++vector) {
      const std::uint32_t plain = row * kRowBytes + vector * 16;
      EXPECT_EQ(vector_at(row, vector), plain ^ (plain >> 7 & 7) << 4);
    }
  }
}

// Eight threads bring one row, or read one vector each of eight rows.
TEST(HopperTile, RowsAndColumnsMeetInNoBank) {
  for (std::uint32_t first = 0; first < 128; first += 8) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      std::array<unsigned, 8> row{}, column{};
      for (std::uint32_t j = 0; j < 8; ++j) {
        row[j] = vector_at(first + i, j);
        column[j] = vector_at(first + j, i);
      }
      EXPECT_EQ(wavefronts(row), 1U);
      EXPECT_EQ(wavefronts(column), 1U);
    }
  }
}

TEST(HopperTile, CutsAreThoseThatWereMeasuredToBeTheBest) {
  const auto cut = [](std::uint32_t rows, std::uint32_t width, std::uint32_t early,
                      bool reproducible = false) {
    const Cut found = cut_of(rows, 1024, width, early, 132, reproducible);
    return std::tuple(found.rows, found.split, found.mates);
  };
  // Folded: nothing is early.
  EXPECT_EQ(cut(7, 1024, 0), std::tuple(64U, 2U, 1U));
  EXPECT_EQ(cut(64, 1024, 0), std::tuple(64U, 2U, 1U));
  EXPECT_EQ(cut(100, 1024, 0), std::tuple(64U, 1U, 1U));
  EXPECT_EQ(cut(128, 1024, 0), std::tuple(64U, 1U, 1U));
  EXPECT_EQ(cut(256, 1024, 0), std::tuple(64U, 1U, 2U)) << "all multiprocessors bring the same weights";
  EXPECT_EQ(cut(256, 1024, 0, true), std::tuple(64U, 1U, 2U)) << "mates change no bit";
  // Half of the operands is a table: with room beside the task ahead an exchange saves nothing.
  EXPECT_EQ(cut(7, 2048, 1024), std::tuple(64U, 1U, 1U));
  EXPECT_EQ(cut(128, 2048, 1024), std::tuple(64U, 1U, 1U));
  EXPECT_EQ(cut(256, 2048, 1024), std::tuple(128U, 1U, 1U)) << "few enough blocks to have room";
  EXPECT_EQ(cut(256, 2048, 0), std::tuple(64U, 1U, 2U));
  for (std::uint32_t early : {0U, 1024U}) {
    const std::uint32_t width = 1024 + early;
    EXPECT_EQ(cut(384, width, early), std::tuple(128U, 1U, 1U));
    EXPECT_EQ(cut(512, width, early), std::tuple(128U, 1U, 1U));
    EXPECT_EQ(cut(4096, width, early), std::tuple(128U, 1U, 1U))
        << "more blocks than multiprocessors, as few as can be";
    for (std::uint32_t rows : {1U, 64U, 256U, 512U})
      EXPECT_EQ(std::get<1>(cut(rows, width, early, true)), 1U);
  }
}

TEST(HopperTile, CutsFitWhatThereIs) {
  EXPECT_EQ(cut_of(1, 64, 3 * kDepth, 0, 132, false).split, 1U) << "three slabs have no halves";
  EXPECT_EQ(cut_of(512, 1024, 2048, 0, 2, false).rows, 128U)
      << "few multiprocessors: as few blocks as can be";
}

}  // namespace
}  // namespace volvox::gpu::hopper
