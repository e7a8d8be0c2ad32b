#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/row_table.h"

namespace volvox {

// Which slots a task may name.
struct HazardRules {
  RowShape shape;
  bool scatters = false;
  CompileOptions options;                                 // pools by gather
  std::array<std::uint32_t, kMaxGathers> gather_slots{};  // slots of each gather's pool
  std::uint32_t ragged_slots = 0, out_slots = 0;
};

// The rows of a task run in any order and at once, so none may write what another reads or writes, nor what
// it reads itself (docs/architecture.md: nothing is written that the same task gathers). Finds what breaks
// this, and slots out of range. Called by one thread at a time; keeps its memory from call to call.
class HazardCheck {
 public:
  // What is wrong, in words; nothing when all is well.
  std::optional<std::string> find(const HazardRules& rules, const ResolvedRows& rows);

 private:
  std::optional<std::string> mark_writes(const HazardRules& rules, const ResolvedRows& rows);
  std::optional<std::string> check_read(std::uint32_t row, std::uint32_t slot, std::uint32_t slots,
                                        bool same_pool) const;

  std::vector<std::uint64_t> written_;  // by slot: the call that saw it written
  std::uint64_t call_ = 0;
};

}  // namespace volvox
