#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/client_turns.h"
#include "batching/request.h"

namespace volvox {

// Requests that wait to be let in: for state memory, or for their turn. Each model has memory of its own, so
// each has a room of its own: one whose memory is full must hold up nobody else, and a long queue before one
// door must not be walked because another opens. Within a room the higher classes come first, and within a
// class clients take turns (ClientTurns). Who does not fit may be passed by those behind that do, but only by
// so many, or a large one would wait for ever.
//
// Whoever is in runs in the order in which he came in; the choice is only open in the room. So no more are
// let in than the batches need: as long as those of a class, or above it, who are in and have not begun can
// fill so many rows, the others of that class wait. Who fills many tasks alone, as a large tree does, so
// keeps others of its kind out, and nobody comes to stand behind a line of them.
//
// A room is walked only after something changed that may let somebody in: memory of its model came back,
// somebody who was in has begun, somebody went whom the others had to wait for, the order changed, or
// somebody came to its very front. Everything but the walk is O(1), and nothing is allocated once as many
// have waited at once, and as many models have been there, as ever will. Requests are numbers of the
// caller's, dense and used again. Pure; one thread at a time.
class WaitingRooms {
 public:
  // Who waits, for what, how many cells it will run, and how many rows of them can run at once as it begins.
  struct Ticket {
    std::uint32_t request = 0;
    ModelId model = 0;
    PriorityClass priority = PriorityClass::kNormal;
    std::uint64_t client = 0;
    std::uint32_t cells = 1;
    std::uint32_t rows = 1;
  };

  explicit WaitingRooms(std::uint32_t max_overtake) : max_overtake_(max_overtake) {}

  // Of this model's requests that have not begun, more may come in until they have so many rows; 0: any
  // number.
  void set_most(ModelId model, std::uint32_t most) { room(model).most = most; }

  // The request waits from now on: behind the others of its client and class.
  void push(const Ticket& ticket);
  // It waits no longer, without having been let in by admit().
  void remove(std::uint32_t request);
  // It goes to the end of another class. That it was passed stays counted.
  void change_class(std::uint32_t request, std::uint64_t client, PriorityClass priority);

  // Who waited here is in, without admit(); or who is in has begun, or never will; or is of another class
  // now.
  void came_in(std::uint32_t request) { inside(request) += places_[request].rows; }
  void moved_on(std::uint32_t request) {
    inside(request) -= places_[request].rows;
    const ModelId model = places_[request].model;
    Room& of = rooms_[model];
    if (of.held && !of.open) open(of, model);
  }
  void change_class_inside(std::uint32_t request, PriorityClass to) {
    moved_on(request);
    places_[request].priority = to;
    came_in(request);
  }

  // State memory of the model / of whichever model came back.
  void reopen(ModelId model);
  void reopen_all();

  std::size_t size() const { return size_; }
  // Counted once for each model and class of which they wait for something.
  std::size_t clients() const;

  // Asks enter(request) of those who may have their turn; true: it is in, and waits no longer. Where models
  // compete for the same memory, another is asked first each time. `enter` must not call this object. Whom it
  // will be asked about soon, fetch(request) is told. Returns how many are in.
  template <class Enter, class Fetch>
  std::size_t admit(Enter enter, Fetch fetch) {
    if (open_.empty()) return 0;
    Walk walk;
    if (open_.size() == 1) {
      walk_room(rooms_[open_.front()], walk, enter, fetch);
    } else {
      const std::size_t first = round_++ % open_.size();
      for (std::size_t i = first; i < open_.size(); ++i) walk_room(rooms_[open_[i]], walk, enter, fetch);
      for (std::size_t i = 0; i < first; ++i) walk_room(rooms_[open_[i]], walk, enter, fetch);
    }
    open_.clear();
    return walk.entered;
  }

 private:
  struct Room {
    std::array<ClientTurns, kPriorityClasses> lines;
    std::array<std::uint64_t, kPriorityClasses> inside{};  // rows of those who are in and have not begun
    std::uint32_t most = 0;
    std::uint32_t waiting = 0;
    bool open = false;  // to be walked
    bool held = false;  // the last walk ended because enough were in
  };
  struct Walk {
    std::size_t entered = 0;
    std::uint32_t first_failed = kNobody, failures = 0;  // in this room
  };

  // To its end, or as far as anybody may pass, or until enough are in.
  template <class Enter, class Fetch>
  void walk_room(Room& room, Walk& walk, Enter& enter, Fetch& fetch) {
    room.open = room.held = false;
    walk.first_failed = kNobody;
    walk.failures = 0;
    std::uint64_t above = 0;
    for (std::size_t c = 0; c < kPriorityClasses; ++c) {
      if (room.lines[c].size() > 0 && !walk_line(room, c, above, walk, enter, fetch)) return;
      above += room.inside[c];
    }
  }
  // `above`: rows of higher classes that are in and have not begun. False: the walk ends here.
  template <class Enter, class Fetch>
  bool walk_line(Room& room, std::size_t c, std::uint64_t above, Walk& walk, Enter& enter, Fetch& fetch) {
    ClientTurns& line = room.lines[c];
    std::uint32_t passed = kNobody;
    bool goes_on = true;
    for (std::uint32_t request; goes_on && (request = line.next(places_)) != kNobody;) {
      if (room.most > 0 && above + room.inside[c] >= room.most) {
        room.held = true;
        goes_on = false;
        break;
      }
      if (const std::uint32_t later = places_[request].next; later != kNobody) fetch(later);
      if (enter(request)) {
        line.enter(places_, request);
        room.inside[c] += places_[request].rows;
        --room.waiting;
        --size_;
        ++walk.entered;
        if (walk.first_failed != kNobody) ++places_[walk.first_failed].overtaken;
      } else {
        places_[request].tried = true;
        line.pass(places_, request);
        if (passed == kNobody) passed = request;
        if (walk.first_failed == kNobody) walk.first_failed = request;
        ++walk.failures;
      }
      goes_on = walk.first_failed == kNobody || may_pass(walk);
    }
    line.end_walk(places_, passed);
    return goes_on;
  }
  bool may_pass(const Walk& walk) const {
    return walk.failures <= max_overtake_ && places_[walk.first_failed].overtaken < max_overtake_;
  }

  Room& room(ModelId model) {
    if (model >= rooms_.size()) rooms_.resize(model + 1);
    return rooms_[model];
  }
  std::uint64_t& inside(std::uint32_t request) {
    const WaitingPlace& place = places_[request];
    return rooms_[place.model].inside[static_cast<std::size_t>(place.priority)];
  }
  ClientTurns& line_of(const WaitingPlace& place) {
    return rooms_[place.model].lines[static_cast<std::size_t>(place.priority)];
  }
  static bool is_first(const Room& room, PriorityClass priority);
  void open(Room& room, ModelId model) {
    room.open = true;
    open_.push_back(model);
  }

  const std::uint32_t max_overtake_;
  WaitingPlaces places_;       // by request
  std::vector<Room> rooms_;    // by model
  std::vector<ModelId> open_;  // rooms to be walked
  std::size_t size_ = 0, round_ = 0;
};

}  // namespace volvox
