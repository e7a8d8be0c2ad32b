#include "gpu/memory/range_list.h"

#include <algorithm>
#include <iterator>

namespace volvox::gpu {

std::optional<std::size_t> RangeList::take(std::size_t pages) {
  const auto fits = [&](const Gaps::value_type& gap) { return gap.second >= pages; };
  const auto middle = free_.lower_bound(next_);
  auto gap = std::find_if(middle, free_.end(), fits);
  if (gap == free_.end()) {
    gap = std::find_if(free_.begin(), middle, fits);
    if (gap == middle) return std::nullopt;
  }
  return take_from(gap, pages);
}

std::size_t RangeList::take_from(Gaps::iterator gap, std::size_t pages) {
  const auto [first, size] = *gap;
  free_.erase(gap);
  if (size > pages) free_.emplace(first + pages, size - pages);
  free_pages_ -= pages;
  next_ = first + pages;
  return first;
}

void RangeList::give_back(std::size_t first, std::size_t pages) {
  free_pages_ += pages;
  auto at = free_.emplace(first, pages).first;
  const auto after = std::next(at);
  if (after != free_.end() && after->first == at->first + at->second) {
    at->second += after->second;
    free_.erase(after);
  }
  if (at == free_.begin()) return;
  const auto before = std::prev(at);
  if (before->first + before->second != at->first) return;
  before->second += at->second;
  free_.erase(at);
}

}  // namespace volvox::gpu
