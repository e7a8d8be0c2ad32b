#pragma once

#include <string>

#include "base/error.h"
#include "device/device.h"

namespace volvox {

// Whether a copy between two pools' planes can be made: a device asks before it moves anything. `Planes` is
// what the device keeps a pool in; null: it has none of that number.
template <class Planes>
Status check_slot_copy(const SlotCopy& copy, const Planes* from, const Planes* to) {
  if (from == nullptr || to == nullptr || from->size() != to->size()) {
    return invalid("a state copy names pool " + std::to_string(copy.pool) + ", which both devices must have");
  }
  if (copy.from >= from->slots() || copy.to >= to->slots())
    return invalid("a state copy names a slot that is not there");
  return {};
}

}  // namespace volvox
