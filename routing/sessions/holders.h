#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/index_pool.h"

namespace volvox {

// Who holds what many share: the account of a key, whatever it connects by; without keys, a connection. Both
// empty: nobody knows who.
struct HolderName {
  std::string_view account;
  std::uint64_t connection = 0;
  auto operator<=>(const HolderName&) const = default;
  bool unknown() const { return account.empty() && connection == 0; }
};

// Names as small numbers, for as long as anybody refers to them. A number that nobody refers to any more
// stands for another name later. Not thread-safe.
class Holders {
 public:
  // The name's number, and one reference more to it.
  std::uint32_t refer(const HolderName& name);
  void release(std::uint32_t holder);
  std::uint32_t find(const HolderName& name) const;  // kNoIndex: nobody refers to it
  // Valid as long as somebody refers to it.
  HolderName operator[](std::uint32_t holder) const { return pool_[holder].name; }

  std::size_t count() const { return pool_.used(); }

 private:
  struct Record {
    std::string account;  // that the name views
    HolderName name;
    std::uint32_t references = 0;
  };

  IndexPool<Record> pool_;
  std::map<HolderName, std::uint32_t> numbers_;
};

// How much of one thing each of them holds, and who holds most. A change costs O(log holders), a question
// O(1); nothing is allocated once the peak was seen. Not thread-safe.
class Holdings {
 public:
  void add(std::uint32_t holder, std::uint64_t amount);
  void remove(std::uint32_t holder, std::uint64_t amount);  // of what it holds
  std::uint64_t of(std::uint32_t holder) const { return holder < held_.size() ? held_[holder].amount : 0; }
  std::uint64_t total() const { return total_; }
  // Of several, the one with the lowest number; kNoIndex: nobody holds anything.
  std::uint32_t biggest() const { return heap_.empty() ? kNoIndex : heap_.front(); }
  std::uint64_t most() const { return heap_.empty() ? 0 : held_[heap_.front()].amount; }
  std::size_t count() const { return heap_.size(); }  // who hold something

 private:
  struct Held {
    std::uint64_t amount = 0;
    std::uint32_t at = kNoIndex;  // in the heap
  };

  bool before(std::uint32_t one, std::uint32_t other) const;
  void put(std::size_t at, std::uint32_t holder);
  void rise(std::size_t at);
  void sink(std::size_t at);

  std::vector<Held> held_;           // by holder
  std::vector<std::uint32_t> heap_;  // those that hold something; the biggest first
  std::uint64_t total_ = 0;
};

}  // namespace volvox
