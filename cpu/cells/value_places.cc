#include "cpu/cells/value_places.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace volvox::cpu {
namespace {

// What is free of a piece of memory that grows at its end.
class FreePlaces {
 public:
  std::size_t take(std::size_t floats) {
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      const auto [at, size] = *place;
      if (size < floats) continue;
      free_.erase(place);
      if (size > floats) free_.emplace(at + floats, size - floats);
      return at;
    }
    std::size_t at = end_;
    // The last one may only be too short.
    if (const auto last = free_.rbegin(); last != free_.rend() && last->first + last->second == end_) {
      at = last->first;
      free_.erase(at);
    }
    end_ = at + floats;
    return at;
  }

  void give_back(std::size_t at, std::size_t floats) {
    auto place = free_.emplace(at, floats).first;
    if (const auto next = std::next(place); next != free_.end() && at + floats == next->first) {
      place->second += next->second;
      free_.erase(next);
    }
    if (place == free_.begin()) return;
    const auto before = std::prev(place);
    if (before->first + before->second != at) return;
    before->second += place->second;
    free_.erase(place);
  }

  std::size_t end() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> free_;  // floats, by where they begin; no two touch
  std::size_t end_ = 0;
};

std::vector<std::size_t> in_order(std::span<const ValueLife> values, std::size_t ValueLife::*of) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t v) { return values[v].floats == 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a].*of < values[b].*of; });
  return order;
}

}  // namespace

ValuePlaces place_values(std::span<const ValueLife> values) {
  ValuePlaces places;
  places.at.resize(values.size());
  FreePlaces free;
  const auto ends = in_order(values, &ValueLife::to);
  auto ended = ends.begin();
  for (const std::size_t value : in_order(values, &ValueLife::from)) {
    for (; values[*ended].to < values[value].from; ++ended)
      free.give_back(places.at[*ended], values[*ended].floats);
    places.at[value] = free.take(values[value].floats);
  }
  places.floats = free.end();
  return places;
}

}  // namespace volvox::cpu
