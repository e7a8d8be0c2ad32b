#include "routing/sessions/kept_outputs.h"

#include <algorithm>
#include <utility>

namespace volvox {

void KeptOutputs::keep(KeptList& list, std::uint64_t sequence, const Digest& content,
                       std::shared_ptr<const void> output, std::uint64_t bytes) {
  if (max_outputs_ == 0 || bytes > std::min({max_bytes_, max_bytes_total_, list.share})) return;
  if (list.holder >= by_holder_.size()) by_holder_.resize(list.holder + 1);
  while (list.outputs.size() >= max_outputs_ || list.bytes > max_bytes_ - bytes) drop(list.outputs.front());
  while (held_.of(list.holder) > list.share - bytes) drop(by_holder_[list.holder].front());
  while (held_.total() > max_bytes_total_ - bytes)
    drop(by_holder_[who_gives_way(list.holder, bytes)].front());
  const std::uint32_t index = pool_.take();
  KeptOutput& kept = pool_[index];
  kept.sequence = sequence;
  kept.bytes = bytes;
  kept.content = content;
  kept.output = std::move(output);
  kept.owner = &list;
  list.outputs.push_back(pool_, index);
  by_holder_[list.holder].push_back(pool_, index);
  list.bytes += bytes;
  held_.add(list.holder, bytes);
}

// Whoever would hold most with what `holder` is to have besides.
std::uint32_t KeptOutputs::who_gives_way(std::uint32_t holder, std::uint64_t bytes) const {
  const std::uint64_t own = held_.of(holder);
  return own > 0 && own + bytes > held_.most() ? holder : held_.biggest();
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
  held_.remove(kept.owner->holder, kept.bytes);
  by_holder_[kept.owner->holder].erase(pool_, index);
  pool_.give_back(index);
}

}  // namespace volvox
