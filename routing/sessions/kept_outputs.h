#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/index_pool.h"
#include "base/keyed_hash.h"
#include "routing/sessions/holders.h"

namespace volvox {

// The output of a part that was answered, in case the answer does not arrive.
struct KeptOutput {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  Digest content;  // of the part
  std::shared_ptr<const void> output;
  struct KeptList* owner = nullptr;
  ListLinks in_session, of_holder;
};

// One session's, oldest first. Does not move while it holds any.
struct KeptList {
  IndexList<KeptOutput, &KeptOutput::in_session> outputs;
  std::uint64_t bytes = 0;
  std::uint32_t holder = 0;                 // whose session it is
  std::uint64_t share = ~std::uint64_t{0};  // bytes that he may hold, in all his sessions
};

// An answer may be lost on its way; running its part again would advance the stream twice. So outputs are
// kept until the client shows that it has them, and no more of them than the bounds allow: when one is full
// the oldest goes, first of the session, then of its holder, then of whoever holds most. What is larger than
// a bound is not kept at all. Not thread-safe.
class KeptOutputs {
 public:
  KeptOutputs(std::uint32_t max_outputs, std::uint64_t max_bytes, std::uint64_t max_bytes_total)
      : max_outputs_(max_outputs), max_bytes_(max_bytes), max_bytes_total_(max_bytes_total) {}

  // `sequence` is larger than all that the list holds.
  void keep(KeptList& list, std::uint64_t sequence, const Digest& content, std::shared_ptr<const void> output,
            std::uint64_t bytes);
  // Null when it is not there (any more).
  const KeptOutput* find(const KeptList& list, std::uint64_t sequence) const;
  // Drops what comes before `before`.
  void acknowledge(KeptList& list, std::uint64_t before);
  void clear(KeptList& list);

  std::size_t count() const { return pool_.used(); }
  std::uint64_t bytes() const { return held_.total(); }
  std::uint64_t most() const { return held_.most(); }  // of one holder

 private:
  std::uint32_t who_gives_way(std::uint32_t holder, std::uint64_t bytes) const;
  void drop(std::uint32_t index);

  const std::uint32_t max_outputs_;
  const std::uint64_t max_bytes_, max_bytes_total_;
  IndexPool<KeptOutput> pool_;
  std::vector<IndexList<KeptOutput, &KeptOutput::of_holder>> by_holder_;  // oldest first
  Holdings held_;
};

}  // namespace volvox
