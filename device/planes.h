#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"

namespace volvox {

// States of thousands of requests must be found by a row number and read with aligned vector loads. A plane
// is the array of one kind of state in host memory: row r begins at data + r·stride_bytes, which is 64-byte
// aligned.
struct Plane {
  StateKind kind;
  std::size_t row_bytes = 0;     // of one state
  std::size_t stride_bytes = 0;  // from row to row, >= row_bytes, a multiple of 64
  std::byte* data = nullptr;

  std::byte* row(std::uint32_t slot) const { return data + slot * stride_bytes; }
};

// The planes of one pool: one for each kind, with common slot numbers. Row 0 of each holds the kind's initial
// value, row 1 is a sink; both are initialised, the others hold nothing that anybody may rely on.
// Owns the memory, which never moves. Rows are read and written without locks: who runs which task when is
// the queue's matter.
class Planes {
 public:
  // Fails when `slots` < kReservedSlots, a shape is empty or negative, or memory is short.
  static Result<Planes> make(std::span<const StateKind> kinds, std::uint32_t slots);

  // Bytes that one slot of the kinds takes, all planes together.
  static std::size_t slot_bytes(std::span<const StateKind> kinds);

  std::uint32_t slots() const { return slots_; }
  std::uint64_t bytes() const;  // of all planes
  std::size_t size() const { return planes_.size(); }
  const Plane& operator[](std::size_t i) const { return planes_[i]; }
  // Number of the plane that holds this kind of state.
  std::optional<std::size_t> find(std::string_view kind) const;

  // Copies slot `from` of `source`, which has the same kinds, to slot `to`. Both must be in range.
  void copy(const Planes& source, std::uint32_t from, std::uint32_t to);
  // One slot's states outside of the planes: kind after kind, without gaps.
  // INVALID_ARGUMENT when there is no such slot, or the bytes are not as many as its states have.
  Status save(std::uint32_t slot, std::span<std::byte> to) const;
  Status load(std::uint32_t slot, std::span<const std::byte> from);
  // Makes every later read of the slot stand out: all bits one, which is a NaN.
  void poison(std::uint32_t slot);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  Status check_copy(std::uint32_t slot, std::size_t size_bytes) const;

  std::uint32_t slots_ = 0;
  std::vector<Plane> planes_;
  std::vector<std::unique_ptr<std::byte[], Free>> memory_;
};

}  // namespace volvox
