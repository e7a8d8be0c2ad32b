#pragma once

#include "gpu/kernels/half.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/target.h"

namespace volvox::gpu {

enum class ElementType : std::uint8_t { kF32, kI32, kU64, kBf16, kF16 };

VOLVOX_KERNEL_BODY std::uint32_t element_bytes(ElementType type) {
  return type == ElementType::kU64 ? 8U : type == ElementType::kBf16 || type == ElementType::kF16 ? 2U : 4U;
}

// Where an element lies that is read or written. Element k of row r: at base + row·stride + (offset +
// k)·size, where the row is as the kind says.
struct Place {
  enum class Kind : std::uint8_t {
    kBuffer,       // r, in the queue's scratch: base is an offset there
    kPlane,        // the slot that gather `index` reads
    kRaggedPlane,  // the slot of the edge
    kOut,          // the slot that the row writes
    kInput,        // at the address of pull `index`
    kResult,       // at the addresses of push `index`
    kVector,       // the same for all rows
    kTable,        // the id that place `id` holds; zeros where it is not below `rows`
  };
  Kind kind = Kind::kBuffer;
  ElementType type = ElementType::kF32;
  std::uint8_t index = 0;
  bool ragged = false;  // kBuffer: a row for each edge
  std::uint32_t offset = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t id = 0;
  // Of a plane: where in each row its copy in 16 bits begins, which a store writes as well; 0: it has none.
  std::uint32_t shadow = 0;
  ElementType shadow_type = ElementType::kBf16;
  std::uint64_t base = 0;
};

// One element on its way through a program, and what lies around it.
struct Element {
  const RowView* view;
  const TaskHeader* task;
  std::uint64_t places, scratch;
  std::uint32_t row, edge, k;
};

VOLVOX_KERNEL_BODY std::uint64_t load_bits(std::uint64_t address, ElementType type) {
  switch (type) {
    case ElementType::kU64:
      return *at<const std::uint64_t>(address);
    case ElementType::kBf16:
      return bits_of(from_bfloat16(*at<const std::uint16_t>(address)));
    case ElementType::kF16:
      return bits_of(from_float16(*at<const std::uint16_t>(address)));
    default:
      return *at<const std::uint32_t>(address);
  }
}

VOLVOX_KERNEL_BODY void store_bits(std::uint64_t address, ElementType type, std::uint64_t value) {
  switch (type) {
    case ElementType::kU64:
      *at<std::uint64_t>(address) = value;
      break;
    case ElementType::kBf16:
      *at<std::uint16_t>(address) = to_bfloat16(float_of(value));
      break;
    case ElementType::kF16:
      *at<std::uint16_t>(address) = to_float16(float_of(value));
      break;
    default:
      *at<std::uint32_t>(address) = static_cast<std::uint32_t>(value);
  }
}

// Address of the row that the place means for this element; 0: there is none, read zeros.
VOLVOX_KERNEL_BODY std::uint64_t row_address(const Place& place, const Element& e) {
  const RowView& view = *e.view;
  switch (place.kind) {
    case Place::Kind::kBuffer:
      return e.scratch + place.base + std::uint64_t{place.stride_bytes} * (place.ragged ? e.edge : e.row);
    case Place::Kind::kPlane:
      return place.base +
             std::uint64_t{place.stride_bytes} * at<const std::uint32_t>(view.gathers[place.index])[e.row];
    case Place::Kind::kRaggedPlane:
      return place.base +
             std::uint64_t{place.stride_bytes} * at<const std::uint32_t>(e.task->edge_slots)[e.edge];
    case Place::Kind::kOut:
      return place.base + std::uint64_t{place.stride_bytes} * at<const std::uint32_t>(view.out)[e.row];
    case Place::Kind::kInput:
      return at<const std::uint64_t>(view.pulls[place.index])[e.row];
    default:
      return place.base;
  }
}

// Where to read the place's row; 0: zeros.
VOLVOX_KERNEL_BODY std::uint64_t source_address(const Place& place, const Element& e) {
  const std::uint64_t row = row_address(place, e);
  if (place.kind != Place::Kind::kTable) return row;
  const Place& id_place = at<const Place>(e.places)[place.id];
  const std::uint64_t id_row = row_address(id_place, e);
  const std::uint64_t id =
      id_row == 0 ? 0 : load_bits(id_row + std::uint64_t{id_place.offset} * 4U, ElementType::kI32);
  return id < place.rows ? row + id * place.stride_bytes : 0;  // a negative id is a large one
}

// Element k of a row that begins there.
VOLVOX_KERNEL_BODY std::uint64_t load_element(const Place& place, std::uint64_t row, std::uint32_t k) {
  return load_bits(row + std::uint64_t{place.offset + k} * element_bytes(place.type), place.type);
}

VOLVOX_KERNEL_BODY void store_result(const Place& place, std::uint64_t row, std::uint32_t k,
                                     std::uint64_t value) {
  store_bits(row + std::uint64_t{place.offset + k} * element_bytes(place.type), place.type, value);
}

// The same where a row has one place, and its copy in 16 bits.
VOLVOX_KERNEL_BODY void store_element(const Place& place, std::uint64_t row, std::uint32_t k,
                                      std::uint64_t value) {
  store_result(place, row, k, value);
  if (place.shadow != 0)
    store_bits(row + place.shadow + std::uint64_t{place.offset + k} * 2, place.shadow_type, value);
}

// One of the addresses that a row's result goes to; 0: none.
VOLVOX_KERNEL_BODY std::uint64_t target_address(const Place& place, const Element& e, std::uint32_t target) {
  return at<const std::uint64_t>(e.view->pushes[place.index])[std::uint64_t{e.row} * kTargets + target];
}

VOLVOX_KERNEL_BODY std::uint64_t load_place(const Place& place, const Element& e) {
  const std::uint64_t row = source_address(place, e);
  return row == 0 ? 0 : load_element(place, row, e.k);
}

VOLVOX_KERNEL_BODY void store_place(const Place& place, const Element& e, std::uint64_t value) {
  if (place.kind != Place::Kind::kResult) return store_element(place, row_address(place, e), e.k, value);
  for (std::uint32_t target = 0; target < kTargets; ++target) {
    const std::uint64_t row = target_address(place, e, target);
    if (row != 0) store_result(place, row, e.k, value);
  }
}

}  // namespace volvox::gpu
