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
std::uint32_t stride_bytes(const StateKind& kind) {
  return (row_bytes(kind) + kAlign - 1) / kAlign * kAlign;
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
  }
  return rows;
}

}  // namespace

std::uint64_t GpuPlanes::slot_bytes(std::span<const StateKind> kinds) {
  std::uint64_t bytes = 0;
  for (const StateKind& kind : kinds) bytes += stride_bytes(kind);
  return bytes;
}

Result<GpuPlanes> GpuPlanes::make(Driver& driver, StreamId stream, std::span<const StateKind> kinds,
                                  std::uint32_t slots) {
  if (slots < kReservedSlots)
    return invalid("a pool needs at least " + std::to_string(kReservedSlots) + " slots");
  GpuPlanes made;
  made.slots_ = slots;
  for (const StateKind& kind : kinds) {
    if (std::any_of(kind.shape.begin(), kind.shape.end(), [](std::int64_t n) { return n <= 0; })) {
      return invalid("state '" + kind.name + "' has the shape " + to_string(kind.shape) +
                     "; all sizes must be positive");
    }
    GpuPlane plane{kind, 0, stride_bytes(kind), row_bytes(kind)};
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
                            a.address + std::uint64_t{from} * a.stride_bytes, b.row_bytes);
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
  for (const GpuPlane& plane : planes_) {
    const DeviceAddress row = plane.address + std::uint64_t{slot} * plane.stride_bytes;
    if (Status ok = driver.copy(stream, row, buffer, plane.row_bytes); !ok) return ok;
    buffer += plane.row_bytes;
  }
  return {};
}

std::size_t GpuPlanes::packed_bytes() const {
  std::size_t total = 0;
  for (const GpuPlane& plane : planes_) total += plane.row_bytes;
  return total;
}

}  // namespace volvox::gpu
