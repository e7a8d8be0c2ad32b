#include "actors/sessions/part_output.h"

#include <cstring>
#include <utility>

namespace volvox {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t words(const WireTensor& tensor) {
  return (tensor.bytes.size() + kWord - 1) / kWord;
}

}  // namespace

std::shared_ptr<const PartOutput> keep_output(const Work& work, Outcome&& outcome) {
  auto kept = std::make_shared<PartOutput>();
  kept->model = work.checked->model->model;
  kept->tensors = std::move(outcome.outputs);
  std::size_t total = 0;
  for (const WireTensor& tensor : kept->tensors) total += words(tensor);
  kept->storage.resize(total);
  std::size_t at = 0;
  for (WireTensor& tensor : kept->tensors) {
    std::uint64_t* to = kept->storage.data() + at;
    at += words(tensor);
    if (!tensor.bytes.empty()) std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
    tensor.bytes = {reinterpret_cast<const std::byte*>(to), tensor.bytes.size()};
  }
  kept->cells = outcome.cells;
  kept->queue_us = outcome.queue_us;
  kept->compute_us = outcome.compute_us;
  return kept;
}

}  // namespace volvox
