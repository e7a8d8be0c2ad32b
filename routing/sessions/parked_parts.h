#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace volvox {

// What a part keeps in memory while it waits: bytes of its own, and a bundle, all of which it keeps as long
// as any other part of it does.
struct PartMemory {
  std::uint64_t bytes = 0;
  std::uint64_t bundle = 0;  // whose number no other has that is kept; 0: it came alone
  std::uint64_t bundle_bytes = 0;
};

// Parts of sessions that were sent ahead of one that is missing. They hold memory and places among the
// requests in flight, and nobody works on them: whoever sends enough of them would shut everybody out at no
// cost. So of all that is in flight they may be only so much, and of that one client again only so much.
// O(1). Pure; one thread at a time.
class ParkedParts {
 public:
  struct Limits {
    std::uint32_t parts = 1638;            // of all clients
    std::uint32_t parts_per_client = 409;  // of one, where clients can be told apart
    std::uint64_t bytes = 128ULL << 20;    // that they keep, a bundle counted once
  };
  static constexpr std::uint64_t kNobody = 0;  // a client that cannot be told from others

  explicit ParkedParts(const Limits& limits) : limits_(limits) {}

  // Whether one more finds room.
  bool fits(std::uint64_t client, const PartMemory& memory) const;
  void park(std::uint64_t client, const PartMemory& memory);
  void leave(std::uint64_t client, const PartMemory& memory);  // what was parked

  std::size_t parts() const { return parts_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Limits limits_;
  std::size_t parts_ = 0;
  std::uint64_t bytes_ = 0;
  using Counts = std::unordered_map<std::uint64_t, std::uint32_t>;  // of those that have any
  Counts of_client_, of_bundle_;
};

}  // namespace volvox
