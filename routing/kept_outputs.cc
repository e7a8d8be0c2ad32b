#include "routing/kept_outputs.h"

#include <utility>

namespace volvox {

void KeptOutputs::keep(KeptList& list, std::uint64_t sequence, std::shared_ptr<const void> output,
                       std::uint64_t bytes) {
  if (max_outputs_ == 0 || bytes > max_bytes_ || bytes > max_bytes_total_) return;
  while (list.outputs.size() >= max_outputs_ || list.bytes > max_bytes_ - bytes) drop(list.outputs.front());
  while (bytes_ > max_bytes_total_ - bytes) drop(by_age_.front());
  const std::uint32_t index = pool_.take();
  KeptOutput& kept = pool_[index];
  kept.sequence = sequence;
  kept.bytes = bytes;
  kept.output = std::move(output);
  kept.owner = &list;
  list.outputs.push_back(pool_, index);
  by_age_.push_back(pool_, index);
  list.bytes += bytes;
  bytes_ += bytes;
}

const KeptOutput* KeptOutputs::find(const KeptList& list, std::uint64_t sequence) const {
  for (std::uint32_t i = list.outputs.back(); i != kNoIndex; i = pool_[i].in_session.prev) {
    if (pool_[i].sequence == sequence) return &pool_[i];
    if (pool_[i].sequence < sequence) break;
  }
  return nullptr;
}

void KeptOutputs::acknowledge(KeptList& list, std::uint64_t before) {
  while (!list.outputs.empty() && pool_[list.outputs.front()].sequence < before) drop(list.outputs.front());
}

void KeptOutputs::clear(KeptList& list) {
  while (!list.outputs.empty()) drop(list.outputs.front());
}

void KeptOutputs::drop(std::uint32_t index) {
  KeptOutput& kept = pool_[index];
  kept.owner->outputs.erase(pool_, index);
  kept.owner->bytes -= kept.bytes;
  bytes_ -= kept.bytes;
  by_age_.erase(pool_, index);
  pool_.give_back(index);
}

}  // namespace volvox
