#include "gpu/memory/gpu_planes.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace volvox::gpu {
namespace {

constexpr std::uint32_t kAlign = 64;

std::uint32_t row_bytes(const StateKind& kind) {
  return static_cast<std::uint32_t>(static_cast<std::size_t>(elements(kind.shape)) * size_bytes(kind.dtype));
}
std::uint32_t aligned(std::uint32_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

GpuPlane plane_of(const StateKind& kind, std::optional<ElementType> shadow) {
  GpuPlane plane{kind, 0, aligned(row_bytes(kind)), row_bytes(kind)};
  const std::uint32_t numbers = plane.row_bytes / 4;
  if (!shadow || kind.dtype != DType::kF32 || numbers % kShadowWidth != 0) return plane;
  plane.shadow = plane.stride_bytes;
  plane.shadow_type = *shadow;
  plane.stride_bytes += aligned(numbers * 2);
  return plane;
}

// The numbers of a row in 16 bits.
void write_shadow(const GpuPlane& plane, const std::byte* row, std::byte* to) {
  for (std::uint32_t k = 0; k < plane.row_bytes / 4; ++k) {
    float value = 0;
    std::memcpy(&value, row + k * 4, sizeof value);
    store_bits(reinterpret_cast<std::uintptr_t>(to + k * 2), plane.shadow_type, bits_of(value));
  }
}

template <class T>
void fill(std::byte* row, std::size_t size_bytes, double initial) {
  const auto value = static_cast<T>(initial);
  for (std::size_t at = 0; at < size_bytes; at += sizeof value) std::memcpy(row + at, &value, sizeof value);
}

// Rows 0 and 1 as bytes.
std::vector<std::byte> reserved_rows(const GpuPlane& plane) {
  std::vector<std::byte> rows(std::size_t{kReservedSlots} * plane.stride_bytes);
  for (std::uint32_t slot = 0; slot < kReservedSlots; ++slot) {
    std::byte* row = rows.data() + slot * plane.stride_bytes;
    switch (plane.kind.dtype) {
      case DType::kF32:
        fill<float>(row, plane.row_bytes, plane.kind.initial);
        break;
      case DType::kI32:
        fill<std::int32_t>(row, plane.row_bytes, plane.kind.initial);
        break;
      case DType::kU64:
        fill<std::uint64_t>(row, plane.row_bytes, plane.kind.initial);
        break;
    }
    if (plane.shadow != 0) write_shadow(plane, row, row + plane.shadow);
  }
  return rows;
}

}  // namespace

std::uint64_t GpuPlanes::slot_bytes(std::span<const StateKind> kinds, std::optional<ElementType> shadow) {
  std::uint64_t bytes = 0;
  for (const StateKind& kind : kinds) bytes += plane_of(kind, shadow).stride_bytes;
  return bytes;
}

Result<GpuPlanes> GpuPlanes::make(Driver& driver, StreamId stream, std::span<const StateKind> kinds,
                                  std::uint32_t slots, std::optional<ElementType> shadow) {
  if (slots < kReservedSlots)
    return invalid("a pool needs at least " + std::to_string(kReservedSlots) + " slots");
  GpuPlanes made;
  made.slots_ = slots;
  for (const StateKind& kind : kinds) {
    if (std::any_of(kind.shape.begin(), kind.shape.end(), [](std::int64_t n) { return n <= 0; })) {
      return invalid("state '" + kind.name + "' has the shape " + to_string(kind.shape) +
                     "; all sizes must be positive");
    }
    GpuPlane plane = plane_of(kind, shadow);
    auto memory = DeviceMemory::make(driver, std::size_t{slots} * plane.stride_bytes);
    if (!memory) return tl::unexpected(memory.error());
    plane.address = memory->address();
    if (Status ok = upload(driver, stream, plane.address, reserved_rows(plane)); !ok)
      return tl::unexpected(ok.error());
    made.planes_.push_back(std::move(plane));
    made.memory_.push_back(std::move(*memory));
  }
  return made;
}

const GpuPlane* GpuPlanes::find(std::string_view kind) const {
  const auto it =
      std::find_if(planes_.begin(), planes_.end(), [&](const GpuPlane& p) { return p.kind.name == kind; });
  return it == planes_.end() ? nullptr : &*it;
}

Status GpuPlanes::copy(Driver& driver, StreamId stream, const GpuPlanes& source, std::uint32_t from,
                       std::uint32_t to) const {
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    const GpuPlane &a = source.planes_[i], &b = planes_[i];
    Status ok = driver.copy(stream, b.address + std::uint64_t{to} * b.stride_bytes,
                            a.address + std::uint64_t{from} * a.stride_bytes,
                            b.shadow != 0 ? b.stride_bytes : b.row_bytes);
    if (!ok) return ok;
  }
  return {};
}

Status GpuPlanes::save(Driver& driver, StreamId stream, std::uint32_t slot, DeviceAddress buffer) const {
  for (const GpuPlane& plane : planes_) {
    const DeviceAddress row = plane.address + std::uint64_t{slot} * plane.stride_bytes;
    if (Status ok = driver.copy(stream, buffer, row, plane.row_bytes); !ok) return ok;
    buffer += plane.row_bytes;
  }
  return {};
}

Status GpuPlanes::load(Driver& driver, StreamId stream, std::uint32_t slot, DeviceAddress buffer) const {
  DeviceAddress shadow = buffer + packed_bytes();
  for (const GpuPlane& plane : planes_) {
    const DeviceAddress row = plane.address + std::uint64_t{slot} * plane.stride_bytes;
    if (Status ok = driver.copy(stream, row, buffer, plane.row_bytes); !ok) return ok;
    buffer += plane.row_bytes;
    if (plane.shadow == 0) continue;
    if (Status ok = driver.copy(stream, row + plane.shadow, shadow, plane.row_bytes / 2); !ok) return ok;
    shadow += plane.row_bytes / 2;
  }
  return {};
}

void GpuPlanes::add_shadows(std::byte* buffer) const {
  std::byte* to = buffer + packed_bytes();
  for (const GpuPlane& plane : planes_) {
    if (plane.shadow != 0) {
      write_shadow(plane, buffer, to);
      to += plane.row_bytes / 2;
    }
    buffer += plane.row_bytes;
  }
}

std::size_t GpuPlanes::packed_bytes() const {
  std::size_t total = 0;
  for (const GpuPlane& plane : planes_) total += plane.row_bytes;
  return total;
}

std::size_t GpuPlanes::staged_bytes() const {
  std::size_t total = packed_bytes();
  for (const GpuPlane& plane : planes_) {
    if (plane.shadow != 0) total += plane.row_bytes / 2;
  }
  return total;
}

}  // namespace volvox::gpu
