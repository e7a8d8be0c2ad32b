#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cells/ir/cell.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// The planes of one pool in a GPU's memory: device/planes.h, elsewhere. Row r of a plane begins at address +
// r·stride_bytes. Rows 0 and 1 are initialised. Owns the memory; its rows are the kernels' matter.
struct GpuPlane {
  StateKind kind;
  DeviceAddress address = 0;
  std::uint32_t stride_bytes = 0, row_bytes = 0;
  // Where in each row the same numbers lie in 16 bits, for kernels whose operands these are: half the bytes
  // to read, and nothing to convert. Whoever writes a row writes both. 0: there is no such copy.
  std::uint32_t shadow = 0;
  ElementType shadow_type = ElementType::kBf16;
};

inline constexpr std::uint32_t kShadowWidth = 64;

class GpuPlanes {
 public:
  // Memory that one slot takes, all planes together.
  static std::uint64_t slot_bytes(std::span<const StateKind> kinds, std::optional<ElementType> shadow);
  // `shadow`: states of float32 whose width is a multiple of kShadowWidth have a copy in that type.
  static Result<GpuPlanes> make(Driver& driver, StreamId stream, std::span<const StateKind> kinds,
                                std::uint32_t slots, std::optional<ElementType> shadow = std::nullopt);

  std::uint32_t slots() const { return slots_; }
  std::size_t size() const { return planes_.size(); }
  std::span<const GpuPlane> planes() const { return planes_; }
  const GpuPlane* find(std::string_view kind) const;  // nullptr: there is none

  // Gives the stream the copy of slot `from` of `source`, which has the same kinds, to slot `to`.
  Status copy(Driver& driver, StreamId stream, const GpuPlanes& source, std::uint32_t from,
              std::uint32_t to) const;
  // The same to or from `buffer`, where the states of one slot lie kind after kind without gaps; load() finds
  // their copies in 16 bits behind them, where add_shadows() has put them.
  Status save(Driver& driver, StreamId stream, std::uint32_t slot, DeviceAddress buffer) const;
  Status load(Driver& driver, StreamId stream, std::uint32_t slot, DeviceAddress buffer) const;
  void add_shadows(std::byte* buffer) const;
  std::size_t packed_bytes() const;  // of one slot
  std::size_t staged_bytes() const;  // with the copies

 private:
  std::uint32_t slots_ = 0;
  std::vector<GpuPlane> planes_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace volvox::gpu
