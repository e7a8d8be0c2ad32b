#include "device/planes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace volvox {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;

template <class T>
void fill_row(const Plane& plane, std::uint32_t slot) {
  const auto value = static_cast<T>(plane.kind.initial);
  for (std::size_t at = 0; at < plane.row_bytes; at += sizeof value) {
    std::memcpy(plane.row(slot) + at, &value, sizeof value);
  }
}

void fill_initial(const Plane& plane, std::uint32_t slot) {
  switch (plane.kind.dtype) {
    case DType::kF32:
      return fill_row<float>(plane, slot);
    case DType::kI32:
      return fill_row<std::int32_t>(plane, slot);
    case DType::kU64:
      return fill_row<std::uint64_t>(plane, slot);
  }
}

std::size_t row_bytes(const StateKind& kind) {
  return static_cast<std::size_t>(elements(kind.shape)) * size_bytes(kind.dtype);
}

std::size_t stride_bytes(const StateKind& kind) {
  const std::size_t lines = (row_bytes(kind) + kLine - 1) / kLine * kLine;
  // Rows a whole number of pages apart would all compete for the same few sets of a cache.
  return lines % kPage == 0 ? lines + kLine : lines;
}

}  // namespace

void Planes::Free::operator()(std::byte* p) const {
  std::free(p);
}

std::size_t Planes::slot_bytes(std::span<const StateKind> kinds) {
  std::size_t total = 0;
  for (const StateKind& kind : kinds) total += stride_bytes(kind);
  return total;
}

Result<Planes> Planes::make(std::span<const StateKind> kinds, std::uint32_t slots) {
  if (slots < kReservedSlots)
    return invalid("a pool needs at least " + std::to_string(kReservedSlots) + " slots");
  Planes made;
  made.slots_ = slots;
  for (const StateKind& kind : kinds) {
    if (std::any_of(kind.shape.begin(), kind.shape.end(), [](std::int64_t n) { return n <= 0; })) {
      return invalid("state '" + kind.name + "' has the shape " + to_string(kind.shape) +
                     "; all sizes must be positive");
    }
    Plane plane{kind, row_bytes(kind), stride_bytes(kind), nullptr};
    // Pages that no row has touched yet cost nothing.
    auto* data = static_cast<std::byte*>(std::aligned_alloc(kLine, plane.stride_bytes * slots));
    if (data == nullptr)
      return fail(ErrorCode::kOverloaded,
                  "no memory for the states '" + kind.name + "'; ask for fewer slots");
    made.memory_.emplace_back(data);
    plane.data = data;
    fill_initial(plane, kInitialSlot);
    fill_initial(plane, kSinkSlot);
    made.planes_.push_back(std::move(plane));
  }
  return made;
}

std::uint64_t Planes::bytes() const {
  std::uint64_t total = 0;
  for (const Plane& plane : planes_) total += std::uint64_t{plane.stride_bytes} * slots_;
  return total;
}

std::optional<std::size_t> Planes::find(std::string_view kind) const {
  const auto it =
      std::find_if(planes_.begin(), planes_.end(), [&](const Plane& p) { return p.kind.name == kind; });
  if (it == planes_.end()) return std::nullopt;
  return static_cast<std::size_t>(it - planes_.begin());
}

void Planes::copy(const Planes& source, std::uint32_t from, std::uint32_t to) {
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    if (source[i].row(from) != planes_[i].row(to)) {
      std::memcpy(planes_[i].row(to), source[i].row(from), planes_[i].row_bytes);
    }
  }
}

Status Planes::check_copy(std::uint32_t slot, std::size_t size_bytes) const {
  std::size_t total = 0;
  for (const Plane& plane : planes_) total += plane.row_bytes;
  if (slot >= slots_) return invalid("there is no slot " + std::to_string(slot));
  if (size_bytes == total) return {};
  return invalid("a slot's states have " + std::to_string(total) + " bytes, not " +
                 std::to_string(size_bytes));
}

Status Planes::save(std::uint32_t slot, std::span<std::byte> to) const {
  if (Status ok = check_copy(slot, to.size()); !ok) return ok;
  for (const Plane& plane : planes_) {
    std::memcpy(to.data(), plane.row(slot), plane.row_bytes);
    to = to.subspan(plane.row_bytes);
  }
  return {};
}

Status Planes::load(std::uint32_t slot, std::span<const std::byte> from) {
  if (Status ok = check_copy(slot, from.size()); !ok) return ok;
  for (const Plane& plane : planes_) {
    std::memcpy(plane.row(slot), from.data(), plane.row_bytes);
    from = from.subspan(plane.row_bytes);
  }
  return {};
}

void Planes::poison(std::uint32_t slot) {
  for (const Plane& plane : planes_) std::memset(plane.row(slot), 0xff, plane.row_bytes);
}

}  // namespace volvox
