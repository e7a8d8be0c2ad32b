#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loadgen/lengths.h"

namespace volvox {

// What requests say. Request `index` is a function of the seed and its index alone, so a sampled request need
// not be kept: the verification makes it again after the load. Immutable: any number of threads.
class RequestSource {
 public:
  // Token ids are drawn from [0, vocabulary), which must not be empty.
  RequestSource(std::uint64_t seed, LengthSource lengths, std::uint32_t vocabulary)
      : seed_(seed), vocabulary_(vocabulary), lengths_(std::move(lengths)) {}

  // Replaces `tokens` by those of request `index`.
  void make(std::uint64_t index, std::vector<std::int32_t>& tokens) const;

  const LengthSource& lengths() const { return lengths_; }

 private:
  std::uint64_t seed_;
  std::uint32_t vocabulary_;
  LengthSource lengths_;
};

}  // namespace volvox
