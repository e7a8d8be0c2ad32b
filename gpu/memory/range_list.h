#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace volvox::gpu {

// Hands out contiguous ranges of a fixed number of pages. A free list, not a ring: a long request must not
// keep the pages of the short ones behind it. Searches on from where it gave last, so that ranges taken in a
// row lie in a row and go up in one copy. Pages are numbers here; one thread at a time.
class RangeList {
 public:
  explicit RangeList(std::size_t pages) : free_pages_(pages) {
    if (pages > 0) free_.emplace(0, pages);
  }

  // First page of `pages` (at least one) pages that are free now; nothing: no gap is that long.
  std::optional<std::size_t> take(std::size_t pages);
  void give_back(std::size_t first, std::size_t pages);
  std::size_t free_pages() const { return free_pages_; }

 private:
  using Gaps = std::map<std::size_t, std::size_t>;  // first page -> how many
  std::size_t take_from(Gaps::iterator gap, std::size_t pages);

  Gaps free_;
  std::size_t free_pages_ = 0;
  std::size_t next_ = 0;
};

}  // namespace volvox::gpu
