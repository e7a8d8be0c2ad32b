#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace volvox {

// Whoever is behind with many small things is slow as long as it holds them all at once: none of them lies in
// a cache when its turn comes, so it stays behind. This says which go on now, and keeps the others, each
// client's in the order in which they came; clients take turns. So many units may be under way, and of each
// client always a sixteenth of them, whatever the others have: one whose work is slow keeps nobody else out.
// Decides only. One thread at a time.
template <class Item>
class TurnLine {
 public:
  // `bound` units at a time; 0: all.
  explicit TurnLine(std::size_t bound) : bound_(bound), of_each_(bound / kClients + 1) {}

  // Whether something of the client that comes may go on, when so many units of all and of its own are under
  // way. Nothing passes what waits of its own client, nor takes the room that others wait for.
  bool may_go(const std::string& client, std::size_t of_all, std::size_t of_client) const {
    return !waits(client) && ((has_room(of_all) && clients_.empty()) || of_client < of_each_);
  }
  bool waits(const std::string& client) const { return places_.contains(client); }

  // Either all or, with an exception, nothing of it happens.
  void wait(const std::string& client, std::size_t units, Item item) {
    const auto place = places_.find(client);
    if (place != places_.end()) {
      place->second->items.push_back({units, std::move(item)});
    } else {
      std::list<Client> fresh(1);
      fresh.front().name = client;
      fresh.front().items.push_back({units, std::move(item)});
      places_.emplace(client, fresh.begin());
      clients_.splice(clients_.end(), fresh);
    }
    units_ += units;
  }

  // What goes on next, if anything may. `under_way`: units of all; `of_client(name)`: of one, asked only when
  // all together have enough.
  template <class OfClient>
  std::optional<Item> next(std::size_t under_way, OfClient of_client) {
    for (auto client = clients_.begin(); client != clients_.end(); ++client) {
      if (has_room(under_way) || of_client(client->name) < of_each_) return take(client);
    }
    return std::nullopt;
  }
  // Whatever is under way: before something of the client that cannot wait.
  std::optional<Item> next_of(const std::string& client) {
    const auto place = places_.find(client);
    if (place == places_.end()) return std::nullopt;
    return take(place->second);
  }
  std::optional<Item> next_of_any() {
    if (clients_.empty()) return std::nullopt;
    return take(clients_.begin());
  }

  std::size_t units() const { return units_; }  // that wait

 private:
  static constexpr std::size_t kClients = 16;

  struct Waiting {
    std::size_t units = 0;
    Item item;
  };
  struct Client {
    std::string name;
    std::deque<Waiting> items;
  };
  using Clients = std::list<Client>;

  bool has_room(std::size_t under_way) const { return bound_ == 0 || under_way < bound_; }

  // Its client is last in turn then.
  Item take(typename Clients::iterator client) {
    Waiting& first = client->items.front();
    units_ -= first.units;
    Item item = std::move(first.item);
    client->items.pop_front();
    if (client->items.empty()) {
      places_.erase(client->name);
      clients_.erase(client);
    } else {
      clients_.splice(clients_.end(), clients_, client);
    }
    return item;
  }

  const std::size_t bound_, of_each_;
  Clients clients_;  // that have something waiting, in turn
  std::unordered_map<std::string, typename Clients::iterator> places_;
  std::size_t units_ = 0;
};

}  // namespace volvox
