#include "actors/sessions/part_output.h"

#include <cstring>
#include <memory>
#include <type_traits>

#include "actors/work/answer.h"
#include "base/with_room.h"

namespace volvox {
namespace {

static_assert(std::is_trivially_destructible_v<WireTensor>, "nobody destroys those behind an output");
static_assert(alignof(WireTensor) <= alignof(PartOutput) && sizeof(PartOutput) % alignof(WireTensor) == 0);

// Each output's bytes begin where a word may.
constexpr std::size_t in_words(std::size_t bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  return (bytes + kWord - 1) / kWord * kWord;
}

}  // namespace

std::shared_ptr<const PartOutput> keep_output(Work& work, const Outcome& figures) {
  const auto outputs = answered_outputs(work);
  const std::size_t count = outputs.size();
  std::size_t room = count * sizeof(WireTensor);
  for (const WireTensor& output : outputs) room += in_words(output.bytes.size());
  const auto kept = make_shared_with_room<PartOutput>(room);
  kept->model = work.checked->model->model;
  kept->bytes = sizeof(PartOutput) + room;
  kept->cells = figures.cells;
  kept->queue_us = figures.queue_us;
  kept->compute_us = figures.compute_us;
  auto* const tensors = reinterpret_cast<WireTensor*>(room_behind(kept.get()));
  std::byte* at = room_behind(kept.get()) + count * sizeof(WireTensor);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> bytes = outputs[i].bytes;
    WireTensor* const tensor = std::construct_at(tensors + i, outputs[i]);
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    tensor->bytes = {at, bytes.size()};
    at += in_words(bytes.size());
  }
  kept->tensors = {tensors, count};
  return kept;
}

}  // namespace volvox
