#include "gpu/memory/page_bitmap.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <thread>

namespace volvox::gpu {
namespace {

// Bits [first, first + count) of a word.
std::uint64_t bits(std::size_t first, std::size_t count) {
  return (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
}

}  // namespace

// The first thread begins at the first page, others where nobody is.
PageBitmap::Cursor& PageBitmap::cursor() {
  Cursor& mine = cursors_[std::hash<std::thread::id>{}(std::this_thread::get_id()) % cursors_.size()];
  if (mine.next.load(std::memory_order_relaxed) == kUnused) {
    const std::size_t part = begun_.fetch_add(1, std::memory_order_relaxed) * 37 % cursors_.size();
    mine.next.store(pages_ / cursors_.size() * part, std::memory_order_relaxed);
  }
  return mine;
}

std::optional<std::size_t> PageBitmap::take(std::size_t pages) {
  if (pages == 0 || pages > pages_) return std::nullopt;
  std::atomic<std::size_t>& next = cursor().next;
  const std::size_t middle = std::min(next.load(std::memory_order_relaxed), pages_);
  auto first = search(middle, pages_, pages);
  if (!first) first = search(0, std::min(middle + pages - 1, pages_), pages);
  if (first) next.store(*first + pages, std::memory_order_relaxed);
  return first;
}

// Looks for free bits without taking them, and then tries to.
std::optional<std::size_t> PageBitmap::search(std::size_t begin, std::size_t end, std::size_t pages) {
  std::size_t first = begin, at = begin;  // of the gap that is looked at, and how far it has been
  while (first + pages <= end) {
    const std::size_t inside = at % kBits;
    const std::uint64_t taken = words_[at / kBits].load(std::memory_order_relaxed) >> inside;
    const std::size_t gap =
        std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(taken)), kBits - inside);
    at += gap;
    if (at - first >= pages) {
      if (claim(first, pages)) return first;
      first = at = first + 1;  // somebody was quicker
    } else if (gap < kBits - inside) {
      at += static_cast<std::size_t>(std::countr_one(taken >> gap));
      first = at;
    }
  }
  return std::nullopt;
}

bool PageBitmap::claim(std::size_t first, std::size_t pages) {
  for (std::size_t at = first; at < first + pages;) {
    const std::size_t count = std::min(kBits - at % kBits, first + pages - at);
    const std::uint64_t mask = bits(at % kBits, count);
    const std::uint64_t before = words_[at / kBits].fetch_or(mask, std::memory_order_acquire);
    if ((before & mask) != 0) {
      words_[at / kBits].fetch_and(~(mask & ~before), std::memory_order_relaxed);
      give_back(first, at - first);
      return false;
    }
    at += count;
  }
  return true;
}

void PageBitmap::give_back(std::size_t first, std::size_t pages) {
  for (std::size_t at = first; at < first + pages;) {
    const std::size_t count = std::min(kBits - at % kBits, first + pages - at);
    words_[at / kBits].fetch_and(~bits(at % kBits, count), std::memory_order_release);
    at += count;
  }
}

std::size_t PageBitmap::free_pages() const {
  std::size_t taken = 0;
  for (const Word& word : words_)
    taken += static_cast<std::size_t>(std::popcount(word.load(std::memory_order_relaxed)));
  return pages_ - taken;
}

}  // namespace volvox::gpu
