#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace volvox::gpu {

// Hands out contiguous ranges of a fixed number of pages, to any number of threads at once and without a
// lock: a page is a bit, which is set while somebody has it. No ring: a long request must not keep the pages
// of the short ones behind it. Whoever takes searches on from where was taken last, so that what is taken in
// a row lies in a row: where all threads have one cursor, neighbours of all of them go up in one copy; where
// each has its own, threads do not write the same words. Pages are numbers here. Any thread may give back
// what another one took. While one takes a long gap, another one may find none that is that long.
class PageBitmap {
 public:
  enum class Cursors : std::uint8_t { kOne, kByThread };
  PageBitmap(std::size_t pages, Cursors cursors)
      : pages_(pages), words_((pages + kBits - 1) / kBits), cursors_(cursors == Cursors::kOne ? 1 : 64) {}

  // First page of `pages` (at least one) pages that were free; nothing: no gap is that long.
  std::optional<std::size_t> take(std::size_t pages);
  void give_back(std::size_t first, std::size_t pages);
  // Counted when asked for.
  std::size_t free_pages() const;

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::size_t kBits = 64, kUnused = ~std::size_t{0};
  struct alignas(64) Cursor {
    std::atomic<std::size_t> next{kUnused};
  };

  Cursor& cursor();
  std::optional<std::size_t> search(std::size_t begin, std::size_t end, std::size_t pages);
  bool claim(std::size_t first, std::size_t pages);

  const std::size_t pages_;
  std::vector<Word> words_;
  std::vector<Cursor> cursors_;        // threads may share one
  std::atomic<std::size_t> begun_{0};  // cursors in use
};

}  // namespace volvox::gpu
