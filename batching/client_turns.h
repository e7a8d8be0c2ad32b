#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/large_memory.h"
#include "base/recycled_map.h"
#include "batching/request.h"

namespace volvox {

inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};

// A request that waits: numbers are the caller's, dense and used again.
struct WaitingPlace {
  std::uint32_t prev = kNobody, next = kNobody;  // of the same client
  std::uint32_t client = kNobody;                // its number in ClientTurns
  std::uint32_t cells = 0;                       // that it will run
  std::uint32_t rows = 1;                        // that its first tasks can take at once
  std::uint32_t overtaken = 0;                   // by how many
  ModelId model = 0;
  PriorityClass priority = PriorityClass::kNormal;
  bool tried = false;  // and did not fit
};
using WaitingPlaces = std::vector<WaitingPlace, LargeAllocator<WaitingPlace>>;

// Requests of several clients that wait in one line. Each client's are in the order of arrival; among clients
// the turn goes round, and whoever has it may let in as many cells as the others, not as many requests: by
// deficit round robin (Shreedhar, Varghese: Efficient Fair Queuing Using Deficit Round-Robin, 1995, §3). So
// neither many requests nor long ones get a client more than its share, and nobody waits for more than a few
// requests of each other client. A client that has nothing here is forgotten: it saves nothing up.
//
// A walk asks next() again and again, and says of each request whether it entered or was passed by, for want
// of memory; one that was passed is next again in the walk after. push() and remove() only between walks.
// Everything is O(1), next() O(clients) once in so many cells; nothing is allocated once as many clients have
// waited at once as ever will. Pure; one thread at a time.
class ClientTurns {
 public:
  void push(WaitingPlaces& places, std::uint32_t request, std::uint64_t client);
  void remove(WaitingPlaces& places, std::uint32_t request);

  std::size_t size() const { return size_; }
  std::size_t clients() const { return in_ring_; }

  // Whose turn it is; kNobody when all were passed by.
  std::uint32_t next(const WaitingPlaces& places);
  // The request that next() said is in. It waits no longer, and its client is charged for it.
  void enter(WaitingPlaces& places, std::uint32_t request);
  // It does not fit: later ones of its client may go before it, and those of others.
  void pass(const WaitingPlaces& places, std::uint32_t request);
  // `first_passed`: whose turn it was first of those who were passed by; it stays their turn. Or kNobody.
  void end_walk(const WaitingPlaces& places, std::uint32_t first_passed);

 private:
  // What a round brings each client. Some short requests; a long one takes several rounds.
  static constexpr std::uint64_t kQuantum = 32;

  struct Client {
    std::uint64_t id = 0;
    std::uint64_t deficit = 0;                     // cells that it may still let in
    std::uint32_t head = kNobody, tail = kNobody;  // its requests
    std::uint32_t cursor = kNobody;                // the first that was not passed by in this walk
    std::uint32_t prev = 0, next = 0;              // in the ring
    bool named = false;                            // in numbers_
  };

  bool is_alone() const { return in_ring_ == 1; }
  std::uint32_t find(std::uint64_t client) const;
  std::uint32_t join(std::uint64_t client);
  void leave(std::uint32_t client);
  void name(std::uint32_t client);
  void unlink(WaitingPlaces& places, std::uint32_t request);
  bool begin_round(const WaitingPlaces& places);

  std::vector<Client> clients_;
  std::vector<std::uint32_t> unused_;
  RecycledMap<std::uint32_t> numbers_;  // by client; one that is alone need not be looked up
  std::vector<std::uint32_t> passed_;   // clients of which requests were passed by, in this walk
  std::uint32_t turn_ = kNobody;        // whose
  std::uint32_t in_ring_ = 0;
  std::size_t size_ = 0;
};

}  // namespace volvox
