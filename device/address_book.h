#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "device/task.h"

namespace volvox {

// Which memory a task may read inputs from and write results to, now. A test device asks before it follows an
// address, so that a buffer released too early is an error with a name instead of a crash. Any thread.
class AddressBook {
 public:
  enum class Use { kInput, kResult };
  enum class Answer { kYes, kNotLanded, kUnknown };

  void add(DeviceAddress begin, std::size_t size_bytes, Use use, bool landed);
  void remove(DeviceAddress begin);
  void land_all();
  bool landed(DeviceAddress begin) const;
  Answer ask(DeviceAddress address, std::size_t size_bytes, Use use) const;

 private:
  struct Block {
    std::size_t size_bytes = 0;
    Use use{};
    bool landed = true;
    std::uint32_t holders = 0;  // the same bytes may be staged more than once
  };
  mutable std::mutex mutex_;
  std::map<DeviceAddress, Block> blocks_;
};

}  // namespace volvox
