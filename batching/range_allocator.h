#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace volvox {

// Hands out the slots of a pool, in two ways. A lane holds a contiguous range for its whole life, so that its
// row can be bound once by {base, ring}. A graph promises itself a number of slots and takes them one by one,
// any of them, because its nodes name their slots anyway; what was promised can always be taken. A bitmap
// searched from where the last search ended, with a stack of released ranges in front of it for each common
// size (small ones, and multiples of 8). Amortised O(1) for repeated sizes and single slots, O(slots / 64)
// otherwise. Not thread-safe.
class RangeAllocator {
 public:
  // Slots [first, slots) can be handed out.
  RangeAllocator(std::uint32_t first, std::uint32_t slots);

  // The first slot of a free range of `count` > 0 slots; nothing when no gap is long enough.
  std::optional<std::uint32_t> allocate(std::uint32_t count);
  // Takes back exactly what allocate() gave.
  void release(std::uint32_t base, std::uint32_t count);

  // Sets slots aside for take(); false, without effect, when so many are not free.
  bool promise(std::uint32_t count);
  void release_promise(std::uint32_t count);  // none of them may still be taken
  std::uint32_t take() {                      // one that was promised
    ++taken_;
    if (cached_[1].empty()) return *find(1);  // there is one: reserved() never exceeds the capacity
    const std::uint32_t slot = cached_[1].back();
    cached_[1].pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) {  // it is promised again
    --taken_;
    cached_[1].push_back(slot);
  }

  std::uint32_t capacity() const { return slots_ - first_; }
  std::uint32_t reserved() const { return used_ + promised_; }  // ranges and promises

 private:
  static constexpr std::uint32_t kSmall = 16;   // sizes up to this one have a stack each,
  static constexpr std::uint32_t kLarge = 512;  // multiples of 8 up to this one too
  static constexpr std::uint32_t kNoStack = ~0U;
  static constexpr std::uint32_t kStacks = kSmall + 1 + kLarge / 8 + 1;

  static std::uint32_t stack_of(std::uint32_t count);
  static std::uint32_t size_of(std::uint32_t stack);

  std::optional<std::uint32_t> search(std::uint32_t count);
  std::optional<std::uint32_t> search_between(std::uint32_t begin, std::uint32_t end,
                                              std::uint32_t count) const;
  std::optional<std::uint32_t> find(std::uint32_t count);
  void put(std::uint32_t base, std::uint32_t count);
  void close_gaps_when_empty();
  bool flush_caches();
  void mark(std::uint32_t base, std::uint32_t count, bool free);

  std::uint32_t first_, slots_, used_ = 0, promised_ = 0, taken_ = 0, hint_;
  std::vector<std::uint64_t> free_;  // bit i of word w: slot 64·w + i is free
  std::array<std::vector<std::uint32_t>, kStacks> cached_;
};

}  // namespace volvox
