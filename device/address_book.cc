#include "device/address_book.h"

#include <algorithm>

namespace volvox {

void AddressBook::add(DeviceAddress begin, std::size_t size_bytes, Use use, bool landed) {
  const std::lock_guard lock(mutex_);
  Block& block = blocks_[begin];
  block.size_bytes = std::max(block.size_bytes, size_bytes);
  block.use = use;
  block.landed = landed;
  ++block.holders;
}

void AddressBook::remove(DeviceAddress begin) {
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(begin);
  if (it != blocks_.end() && --it->second.holders == 0) blocks_.erase(it);
}

void AddressBook::land_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [begin, block] : blocks_) block.landed = true;
}

bool AddressBook::landed(DeviceAddress begin) const {
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(begin);
  return it != blocks_.end() && it->second.landed;
}

AddressBook::Answer AddressBook::ask(DeviceAddress address, std::size_t size_bytes, Use use) const {
  const std::lock_guard lock(mutex_);
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return Answer::kUnknown;
  const auto& [begin, block] = *--it;
  if (block.use != use || address + size_bytes > begin + block.size_bytes) return Answer::kUnknown;
  return block.landed ? Answer::kYes : Answer::kNotLanded;
}

}  // namespace volvox
