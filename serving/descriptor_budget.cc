#include "serving/descriptor_budget.h"

#include <algorithm>
#include <array>

namespace volvox {
namespace {

constexpr std::uint64_t kLeast = 4;  // of a door that is open at all
constexpr std::array kStrangers{&DoorBounds::clients, &DoorBounds::http, &DoorBounds::cluster};

// part · of / whole, rounded down. Bounds are far below 2³².
std::uint64_t share(std::uint64_t part, std::uint64_t of, std::uint64_t whole) {
  return whole == 0 ? 0 : part * of / whole;
}

}  // namespace

DoorBounds split_descriptors(std::uint64_t limit, std::uint64_t held, const DoorBounds& wishes) {
  const std::uint64_t free = limit > held ? limit - held : 0;
  if (wishes.sum() <= free) return wishes;
  DoorBounds bounds = wishes;
  // A part at most: no wish of theirs shuts out all clients.
  bounds.admin = std::min(wishes.admin, free / 8);
  bounds.monitor = std::min(wishes.monitor, free / 4);
  std::uint64_t left = free - bounds.admin - bounds.monitor, strangers = 0;
  for (const auto door : kStrangers) {
    bounds.*door = std::min(kLeast, wishes.*door);
    strangers += wishes.*door - bounds.*door;
    left -= std::min(left, bounds.*door);
  }
  for (const auto door : kStrangers) bounds.*door += share(wishes.*door - bounds.*door, left, strangers);
  return bounds;
}

}  // namespace volvox
