#include "batching/client_turns.h"

#include <algorithm>
#include <limits>

namespace volvox {

void ClientTurns::push(WaitingPlaces& places, std::uint32_t request, std::uint64_t client) {
  std::uint32_t number = find(client);
  if (number == kNobody) number = join(client);
  Client& whose = clients_[number];
  WaitingPlace& place = places[request];
  place.client = number;
  place.prev = whose.tail;
  place.next = kNobody;
  (whose.tail == kNobody ? whose.head : places[whose.tail].next) = request;
  whose.tail = request;
  whose.cursor = whose.head;
  ++size_;
}

void ClientTurns::remove(WaitingPlaces& places, std::uint32_t request) {
  Client& whose = clients_[places[request].client];
  unlink(places, request);
  whose.cursor = whose.head;
  if (whose.head == kNobody) leave(places[request].client);
}

std::uint32_t ClientTurns::next(const WaitingPlaces& places) {
  if (in_ring_ == 0) return kNobody;
  if (is_alone()) return clients_[turn_].cursor;
  do {
    std::uint32_t number = turn_;
    do {
      const Client& whose = clients_[number];
      if (whose.cursor != kNobody && whose.deficit >= places[whose.cursor].cells) {
        turn_ = number;
        return whose.cursor;
      }
      number = whose.next;
    } while (number != turn_);
  } while (begin_round(places));
  return kNobody;
}

// Nobody may go any more: every client that has requests left gets a quantum. Rounds that would not help
// anybody are gone through at once. False: all requests were passed by.
bool ClientTurns::begin_round(const WaitingPlaces& places) {
  std::uint64_t rounds = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t number = turn_;
  do {
    const Client& whose = clients_[number];
    if (whose.cursor != kNobody) {
      const std::uint64_t lacks = places[whose.cursor].cells - whose.deficit;
      rounds = std::min(rounds, (lacks + kQuantum - 1) / kQuantum);
    }
    number = whose.next;
  } while (number != turn_);
  if (rounds == std::numeric_limits<std::uint64_t>::max()) return false;
  do {
    Client& whose = clients_[number];
    if (whose.cursor != kNobody) whose.deficit += rounds * kQuantum;
    number = whose.next;
  } while (number != turn_);
  return true;
}

void ClientTurns::enter(WaitingPlaces& places, std::uint32_t request) {
  const std::uint32_t number = places[request].client;
  Client& whose = clients_[number];
  whose.cursor = places[request].next;
  unlink(places, request);
  if (whose.head == kNobody) return leave(number);
  if (is_alone()) {  // it takes nothing from others
    whose.deficit = 0;
    return;
  }
  whose.deficit -= places[request].cells;
  if (whose.cursor == kNobody || whose.deficit < places[whose.cursor].cells) turn_ = whose.next;
}

void ClientTurns::pass(const WaitingPlaces& places, std::uint32_t request) {
  clients_[places[request].client].cursor = places[request].next;
  passed_.push_back(places[request].client);
}

void ClientTurns::end_walk(const WaitingPlaces& places, std::uint32_t first_passed) {
  for (const std::uint32_t number : passed_) clients_[number].cursor = clients_[number].head;
  passed_.clear();
  if (first_passed != kNobody) turn_ = places[first_passed].client;
}

std::uint32_t ClientTurns::find(std::uint64_t client) const {
  if (in_ring_ == 0) return kNobody;
  if (clients_[turn_].id == client) return turn_;
  if (is_alone()) return kNobody;
  const auto found = numbers_.find(client);
  return found == numbers_.end() ? kNobody : found->second;
}

// Its turn comes after those of all others.
std::uint32_t ClientTurns::join(std::uint64_t client) {
  std::uint32_t number = static_cast<std::uint32_t>(clients_.size());
  if (unused_.empty()) {
    clients_.emplace_back();
    unused_.reserve(clients_.capacity());
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  Client& one = clients_[number];
  one = Client{};
  one.id = client;
  if (in_ring_++ == 0) {
    one.prev = one.next = turn_ = number;
    return number;
  }
  one.next = turn_;
  one.prev = clients_[turn_].prev;
  clients_[one.prev].next = clients_[one.next].prev = number;
  name(turn_);
  name(number);
  return number;
}

void ClientTurns::leave(std::uint32_t number) {
  Client& one = clients_[number];
  clients_[one.prev].next = one.next;
  clients_[one.next].prev = one.prev;
  --in_ring_;
  if (turn_ == number) turn_ = in_ring_ == 0 ? kNobody : one.next;
  if (one.named) numbers_.erase(numbers_.find(one.id));
  unused_.push_back(number);
}

void ClientTurns::name(std::uint32_t number) {
  Client& one = clients_[number];
  if (!one.named) numbers_[one.id] = number;
  one.named = true;
}

void ClientTurns::unlink(WaitingPlaces& places, std::uint32_t request) {
  const WaitingPlace& place = places[request];
  Client& whose = clients_[place.client];
  (place.prev == kNobody ? whose.head : places[place.prev].next) = place.next;
  (place.next == kNobody ? whose.tail : places[place.next].prev) = place.prev;
  --size_;
}

}  // namespace volvox
