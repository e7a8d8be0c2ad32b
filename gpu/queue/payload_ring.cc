#include "gpu/queue/payload_ring.h"

namespace volvox::gpu {

std::optional<std::size_t> PayloadRing::take(TaskSeq seq, std::size_t size_bytes) {
  std::size_t begin = 0;
  if (!taken_.empty()) {
    const std::size_t head = taken_.front().begin, tail = taken_.back().end;
    const bool wrapped = tail <= head && taken_.back().begin < head;
    if (wrapped) {
      if (head - tail < size_bytes) return std::nullopt;
      begin = tail;
    } else if (size_ - tail >= size_bytes) {
      begin = tail;
    } else if (head < size_bytes) {
      return std::nullopt;
    }
  } else if (size_ < size_bytes) {
    return std::nullopt;
  }
  if (size_bytes > 0) taken_.push_back({seq, begin, begin + size_bytes});
  return begin;
}

void PayloadRing::done(TaskSeq up_to) {
  while (!taken_.empty() && taken_.front().seq <= up_to) taken_.pop_front();
}

}  // namespace volvox::gpu
