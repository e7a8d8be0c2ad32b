#include "batching/range_allocator.h"

#include <algorithm>
#include <bit>

namespace volvox {

RangeAllocator::RangeAllocator(std::uint32_t first, std::uint32_t slots)
    : first_(std::min(first, slots)), slots_(slots), hint_(first_), free_((slots + 63) / 64, 0) {
  mark(first_, slots_ - first_, true);
}

std::uint32_t RangeAllocator::stack_of(std::uint32_t count) {
  if (count <= kSmall) return count;
  return count % 8 == 0 && count <= kLarge ? kSmall + 1 + count / 8 : kNoStack;
}

std::uint32_t RangeAllocator::size_of(std::uint32_t stack) {
  return stack <= kSmall ? stack : (stack - kSmall - 1) * 8;
}

std::optional<std::uint32_t> RangeAllocator::allocate(std::uint32_t count) {
  if (count > capacity() - reserved()) return std::nullopt;
  const auto base = find(count);
  if (base) used_ += count;
  return base;
}

void RangeAllocator::release(std::uint32_t base, std::uint32_t count) {
  used_ -= count;
  put(base, count);
  close_gaps_when_empty();
}

bool RangeAllocator::promise(std::uint32_t count) {
  if (count > capacity() - reserved()) return false;
  promised_ += count;
  return true;
}

void RangeAllocator::release_promise(std::uint32_t count) {
  promised_ -= count;
  close_gaps_when_empty();
}

std::optional<std::uint32_t> RangeAllocator::find(std::uint32_t count) {
  if (const std::uint32_t stack = stack_of(count); stack != kNoStack && !cached_[stack].empty()) {
    const std::uint32_t base = cached_[stack].back();
    cached_[stack].pop_back();
    return base;
  }
  auto base = search(count);
  if (!base && flush_caches()) base = search(count);
  if (!base) return std::nullopt;
  mark(*base, count, false);
  hint_ = *base + count;
  return base;
}

void RangeAllocator::put(std::uint32_t base, std::uint32_t count) {
  if (const std::uint32_t stack = stack_of(count); stack != kNoStack) {
    cached_[stack].push_back(base);
  } else {
    mark(base, count, true);
  }
}

// So that ranges which fit together when alone always do.
void RangeAllocator::close_gaps_when_empty() {
  if (used_ > 0 || taken_ > 0) return;
  flush_caches();
  hint_ = first_;
}

std::optional<std::uint32_t> RangeAllocator::search(std::uint32_t count) {
  if (auto base = search_between(hint_, slots_, count)) return base;
  return search_between(first_, std::min(slots_, hint_ + count), count);
}

std::optional<std::uint32_t> RangeAllocator::search_between(std::uint32_t begin, std::uint32_t end,
                                                            std::uint32_t count) const {
  std::uint32_t run = 0;
  std::uint32_t slot = begin;
  while (slot < end) {
    const std::uint64_t word = free_[slot / 64] >> (slot % 64);
    const std::uint32_t left = std::min(64 - slot % 64, end - slot);
    const std::uint32_t gap = std::min<std::uint32_t>(std::countr_zero(word), left);
    if (gap > 0) {
      run = 0;
      slot += gap;
      continue;
    }
    const std::uint32_t ones = std::min<std::uint32_t>(std::countr_one(word), left);
    if (run + ones >= count) return slot - run;
    run += ones;
    slot += ones;
  }
  return std::nullopt;
}

bool RangeAllocator::flush_caches() {
  bool any = false;
  for (std::uint32_t stack = 1; stack < kStacks; ++stack) {
    for (std::uint32_t base : cached_[stack]) mark(base, size_of(stack), true);
    any = any || !cached_[stack].empty();
    cached_[stack].clear();
  }
  return any;
}

void RangeAllocator::mark(std::uint32_t base, std::uint32_t count, bool free) {
  for (std::uint32_t slot = base, end = base + count; slot < end;) {
    const std::uint32_t bit = slot % 64;
    const std::uint32_t n = std::min(64 - bit, end - slot);
    const std::uint64_t mask = (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << bit;
    if (free) {
      free_[slot / 64] |= mask;
    } else {
      free_[slot / 64] &= ~mask;
    }
    slot += n;
  }
}

}  // namespace volvox
