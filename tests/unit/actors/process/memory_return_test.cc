#include "actors/process/memory_return.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread_sanitizer.h"

namespace volvox {
namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// What is free lies before something that is used, where the allocator alone keeps it.
TEST(MemoryReturn, WhatIsFreeGoesBackToTheSystem) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || VOLVOX_THREAD_SANITIZER
  GTEST_SKIP() << "another allocator";
#endif
  constexpr std::size_t kPiece = 4096, kPieces = 16'384;
  std::vector<std::unique_ptr<std::byte[]>> pieces(kPieces);
  for (auto& piece : pieces) {
    piece = std::make_unique_for_overwrite<std::byte[]>(kPiece);
    std::memset(piece.get(), 1, kPiece);
  }
  const std::size_t used = resident_bytes();
  for (std::size_t i = 0; i + 1 < kPieces; ++i) pieces[i] = nullptr;
  ASSERT_GT(resident_bytes(), used - kPieces * kPiece / 4) << "the allocator gave it back alone";
  const MemoryReturn returns(std::chrono::milliseconds(1));
  const TimePoint until = steady_now() + std::chrono::seconds(20);
  while (resident_bytes() > used - kPieces * kPiece / 2 && steady_now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LT(resident_bytes(), used - kPieces * kPiece / 2);
}

// What is free lies at the end of the arena of a thread that goes on.
TEST(MemoryReturn, TheEndOfAnArenaGoesBackWithWhatIsFreedThere) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || VOLVOX_THREAD_SANITIZER
  GTEST_SKIP() << "another allocator";
#endif
  constexpr std::size_t kPiece = 100'000, kPieces = 300;
  const MemoryReturn keeps(Duration::zero());
  std::thread([] {
    (void)resident_bytes();  // so that nothing that it keeps lies behind the pieces
    std::vector<std::unique_ptr<std::byte[]>> pieces(kPieces);
    for (auto& piece : pieces) {
      piece = std::make_unique_for_overwrite<std::byte[]>(kPiece);
      std::memset(piece.get(), 1, kPiece);
    }
    const std::size_t used = resident_bytes();
    pieces.clear();
    ASSERT_GT(resident_bytes(), used - kPieces * kPiece / 4) << "the allocator gave it back alone";
    const MemoryReturn returns(std::chrono::milliseconds(1));
    const TimePoint until = steady_now() + std::chrono::seconds(20);
    while (resident_bytes() > used - kPieces * kPiece / 2 && steady_now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::unique_ptr<std::byte[]> comes_and_goes(new std::byte[kPiece]);
    }
    EXPECT_LT(resident_bytes(), used - kPieces * kPiece / 2);
  }).join();
}

TEST(MemoryReturn, WhatTakesLongIsDoneLessOften) {
  using std::chrono::milliseconds;
  EXPECT_EQ(until_next_return(milliseconds(2000), milliseconds(2)), milliseconds(2000));
  EXPECT_EQ(until_next_return(milliseconds(2000), milliseconds(20)), milliseconds(4000));
}

TEST(MemoryReturn, EndsAtOnceHoweverLongItWouldWait) {
  const TimePoint begin = steady_now();
  { const MemoryReturn returns(std::chrono::hours(1)); }
  { const MemoryReturn never(Duration::zero()); }
  EXPECT_LT(steady_now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace volvox
