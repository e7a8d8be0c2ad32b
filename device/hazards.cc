#include "device/hazards.h"

namespace volvox {
namespace {

std::string row_slot(std::uint32_t row, const char* does, std::uint32_t slot) {
  return "row " + std::to_string(row) + does + "slot " + std::to_string(slot);
}

}  // namespace

std::optional<std::string> HazardCheck::mark_writes(const HazardRules& rules, const ResolvedRows& rows) {
  if (written_.size() < rules.out_slots) written_.resize(rules.out_slots, 0);
  for (std::uint32_t r = 0; r < rows.rows; ++r) {
    const std::uint32_t slot = rows.out[r];
    if (slot == kSinkSlot) continue;
    if (slot >= rules.out_slots) return row_slot(r, " writes ", slot) + ", which is not there";
    if (slot == kInitialSlot) return row_slot(r, " writes ", slot) + ", the initial value";
    if (written_[slot] == call_) return row_slot(r, " writes ", slot) + ", as an earlier row does";
    written_[slot] = call_;
  }
  return std::nullopt;
}

std::optional<std::string> HazardCheck::check_read(std::uint32_t row, std::uint32_t slot, std::uint32_t slots,
                                                   bool same_pool) const {
  if (slot >= slots) return row_slot(row, " reads ", slot) + ", which is not there";
  if (slot == kSinkSlot) return row_slot(row, " reads ", slot) + ", the sink";
  if (same_pool && written_[slot] == call_) return row_slot(row, " reads ", slot) + ", which the task writes";
  return std::nullopt;
}

std::optional<std::string> HazardCheck::find(const HazardRules& rules, const ResolvedRows& rows) {
  ++call_;
  if (rules.scatters) {
    if (auto found = mark_writes(rules, rows)) return found;
  }
  for (std::uint32_t g = 0; g < rules.shape.gathers; ++g) {
    const bool same = rules.scatters && rules.options.gather_pools[g] == rules.options.out_pool;
    for (std::uint32_t r = 0; r < rows.rows; ++r) {
      if (auto found = check_read(r, rows.gathers[g][r], rules.gather_slots[g], same)) return found;
    }
  }
  if (!rules.shape.ragged) return std::nullopt;
  const bool same = rules.scatters && rules.options.ragged_pool == rules.options.out_pool;
  for (std::uint32_t r = 0; r < rows.rows; ++r) {
    for (std::uint32_t i = rows.ragged_begin[r]; i < rows.ragged_begin[r + 1]; ++i) {
      if (auto found = check_read(r, rows.ragged_slots[i], rules.ragged_slots, same)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace volvox
