#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/request.h"

namespace volvox {

// Requests that wait for state memory. Each model has memory of its own, so each has a room of its own: one
// whose memory is full must hold up nobody else, and a long queue before one door must not be walked because
// another opens. Within a room the higher classes come first, and each class in the order of arrival. Who
// does not fit may be passed by those behind that do, but only by so many, or a large one would wait for
// ever.
//
// A room is walked only after something changed that may let somebody in: memory of its model came back,
// somebody went whom the others had to wait for, the order changed, or somebody came to its very front.
// Everything but the walk is O(1), and nothing is allocated once as many have waited at once, and as many
// models have been there, as ever will. Requests are numbers of the caller's, dense and used again. Pure; one
// thread at a time.
class WaitingRooms {
 public:
  explicit WaitingRooms(std::uint32_t max_overtake) : max_overtake_(max_overtake) {}

  // The request waits from now on: behind the others of its class.
  void push(std::uint32_t request, ModelId model, PriorityClass priority) {
    if (request >= places_.size()) places_.resize(request + 1);
    if (model >= rooms_.size()) rooms_.resize(model + 1);
    Place& place = places_[request];
    place.overtaken = 0;
    place.model = model;
    place.priority = priority;
    Room& room = rooms_[model];
    link(room, place, request);
    if (!room.open && is_first(room, request)) open(room, model);
  }
  // It waits no longer, without having been let in by admit().
  void remove(std::uint32_t request);
  // It goes to the end of another class. That it was passed stays counted.
  void change_class(std::uint32_t request, PriorityClass priority);

  // State memory of the model / of whichever model came back.
  void reopen(ModelId model);
  void reopen_all();

  std::size_t size() const { return size_; }

  // Asks enter(request) of those who may have their turn; true: it is in, and waits no longer. Where models
  // compete for the same memory, another is asked first each time. `enter` must not call this object. Returns
  // how many are in.
  template <class Enter>
  std::size_t admit(Enter enter) {
    if (open_.empty()) return 0;
    std::size_t entered = 0;
    if (open_.size() == 1) {
      entered = walk(rooms_[open_.front()], enter);
      open_.clear();
      return entered;
    }
    const std::size_t first = round_++ % open_.size();
    for (std::size_t i = first; i < open_.size(); ++i) entered += walk(rooms_[open_[i]], enter);
    for (std::size_t i = 0; i < first; ++i) entered += walk(rooms_[open_[i]], enter);
    open_.clear();
    return entered;
  }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Place {
    std::uint32_t prev = kNobody, next = kNobody;
    std::uint32_t overtaken = 0;  // by how many
    ModelId model = 0;
    PriorityClass priority = PriorityClass::kNormal;
    bool tried = false;  // and did not fit
  };
  struct List {
    std::uint32_t head = kNobody, tail = kNobody;
  };
  struct Room {
    std::array<List, kPriorityClasses> lists;
    std::uint32_t waiting = 0;
    bool open = false;  // to be walked
  };

  // To its end, or as far as anybody may pass.
  template <class Enter>
  std::size_t walk(Room& room, Enter& enter) {
    room.open = false;
    std::size_t entered = 0;
    std::uint32_t first_failed = kNobody, failures = 0;
    for (List& list : room.lists) {
      for (std::uint32_t request = list.head, next; request != kNobody; request = next) {
        const bool is_in = enter(request);
        next = places_[request].next;
        if (is_in) {
          unlink(room, list, places_[request]);
          ++entered;
          if (room.waiting == 0) return entered;
          if (first_failed != kNobody) ++places_[first_failed].overtaken;
        } else {
          places_[request].tried = true;
          if (first_failed == kNobody) first_failed = request;
          ++failures;
        }
        if (first_failed == kNobody) continue;
        if (failures > max_overtake_ || places_[first_failed].overtaken >= max_overtake_) return entered;
      }
    }
    return entered;
  }

  void link(Room& room, Place& place, std::uint32_t request) {
    List& list = room.lists[static_cast<std::size_t>(place.priority)];
    place.tried = false;
    place.prev = list.tail;
    place.next = kNobody;
    (list.tail == kNobody ? list.head : places_[list.tail].next) = request;
    list.tail = request;
    ++room.waiting;
    ++size_;
  }
  void unlink(Room& room, List& list, const Place& place) {
    (place.prev == kNobody ? list.head : places_[place.prev].next) = place.next;
    (place.next == kNobody ? list.tail : places_[place.next].prev) = place.prev;
    --room.waiting;
    --size_;
  }
  void unlink(std::uint32_t request) {
    const Place& place = places_[request];
    Room& room = rooms_[place.model];
    unlink(room, room.lists[static_cast<std::size_t>(place.priority)], place);
  }
  bool is_first(const Room& room, std::uint32_t request) const {
    if (room.waiting == 1) return true;
    const auto somebody = [](const List& list) { return list.head != kNobody; };
    return std::find_if(room.lists.begin(), room.lists.end(), somebody)->head == request;
  }
  void open(Room& room, ModelId model) {
    room.open = true;
    open_.push_back(model);
  }

  const std::uint32_t max_overtake_;
  std::vector<Place> places_;  // by request
  std::vector<Room> rooms_;    // by model
  std::vector<ModelId> open_;  // rooms to be walked
  std::size_t size_ = 0, round_ = 0;
};

}  // namespace volvox
