#pragma once

#include <cstdint>
#include <memory>

#include "routing/index_pool.h"

namespace volvox {

// The output of a part that was answered, in case the answer does not arrive.
struct KeptOutput {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::shared_ptr<const void> output;
  struct KeptList* owner = nullptr;
  ListLinks in_session, by_age;
};

// One session's, oldest first. Does not move while it holds any.
struct KeptList {
  IndexList<KeptOutput, &KeptOutput::in_session> outputs;
  std::uint64_t bytes = 0;
};

// An answer may be lost on its way; running its part again would advance the stream twice. So outputs are
// kept until the client shows that it has them, and no more of them than the bounds allow: when one is full
// the oldest goes, first of the session, then of all. What is larger than a bound is not kept at all.
// Not thread-safe.
class KeptOutputs {
 public:
  KeptOutputs(std::uint32_t max_outputs, std::uint64_t max_bytes, std::uint64_t max_bytes_total)
      : max_outputs_(max_outputs), max_bytes_(max_bytes), max_bytes_total_(max_bytes_total) {}

  // `sequence` is larger than all that the list holds.
  void keep(KeptList& list, std::uint64_t sequence, std::shared_ptr<const void> output, std::uint64_t bytes);
  // Null when it is not there (any more).
  const KeptOutput* find(const KeptList& list, std::uint64_t sequence) const;
  // Drops what comes before `before`.
  void acknowledge(KeptList& list, std::uint64_t before);
  void clear(KeptList& list);

  std::size_t count() const { return pool_.used(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void drop(std::uint32_t index);

  const std::uint32_t max_outputs_;
  const std::uint64_t max_bytes_, max_bytes_total_;
  IndexPool<KeptOutput> pool_;
  IndexList<KeptOutput, &KeptOutput::by_age> by_age_;
  std::uint64_t bytes_ = 0;
};

}  // namespace volvox
