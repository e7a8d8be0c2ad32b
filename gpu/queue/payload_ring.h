#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "device/task.h"

namespace volvox::gpu {

// Of a queue's ring. The edges of one task take half of it, at most: eight bytes each.
inline constexpr std::size_t kPayloadBytes = std::size_t{8} << 20;
inline constexpr std::uint32_t kMostEdges = kPayloadBytes / 16;

// What tasks point to lies in a ring of bytes: taken in the order of the tasks, free again once they are
// done. Bookkeeping only; one thread.
class PayloadRing {
 public:
  explicit PayloadRing(std::size_t size_bytes) : size_(size_bytes) {}

  // Where `size_bytes` in a row may be written for task `seq`; nothing: not before earlier tasks are done.
  std::optional<std::size_t> take(TaskSeq seq, std::size_t size_bytes);
  void done(TaskSeq up_to);

  std::size_t size_bytes() const { return size_; }

 private:
  struct Taken {
    TaskSeq seq;
    std::size_t begin, end;
  };
  std::size_t size_;
  std::deque<Taken> taken_;
};

}  // namespace volvox::gpu
