#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "base/time.h"

namespace volvox {

// What a cell of a model costs where it was measured last: a node that has not measured it yet is taken to be
// like the others. Nodes choose the names, so that only so many are kept: those that were asked for last.
// Pure; one thread at a time.
class TypicalCosts {
 public:
  TypicalCosts(std::size_t most, Duration unmeasured) : most_(most), unmeasured_(unmeasured) {}

  // Of a node's cell; nothing measured: what is typical.
  Duration of(const std::string& model, std::uint32_t version, Duration measured);
  std::size_t size() const { return by_model_.size(); }

 private:
  using Key = std::pair<std::string, std::uint32_t>;
  struct Entry {
    Duration cost{};
    std::list<Key>::iterator place;
  };

  std::size_t most_;
  Duration unmeasured_;
  std::map<Key, Entry> by_model_;
  std::list<Key> order_;  // the one that was asked for last in front
};

}  // namespace volvox
