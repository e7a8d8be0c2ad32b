#include "gpu/memory/result_arena.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gpu/memory/page_bitmap.h"

namespace volvox::gpu {
namespace {

constexpr std::size_t kPageBytes = 64;

}  // namespace

struct ResultArena::Shared {
  Shared(std::shared_ptr<Driver> the_driver, PinnedMemory the_memory)
      : driver(std::move(the_driver)),
        memory(std::move(the_memory)),
        pages(memory.size_bytes() / kPageBytes, PageBitmap::Cursors::kByThread) {}

  std::shared_ptr<Driver> driver;  // outlives the memory
  PinnedMemory memory;
  PageBitmap pages;
};

Result<std::unique_ptr<ResultArena>> ResultArena::make(std::shared_ptr<Driver> driver,
                                                       std::size_t size_bytes) {
  auto memory = PinnedMemory::make(*driver, std::max(size_bytes, kPageBytes) / kPageBytes * kPageBytes);
  if (!memory) return tl::unexpected(memory.error());
  auto made = std::make_unique<ResultArena>();
  made->shared_ = std::make_shared<Shared>(std::move(driver), std::move(*memory));
  return made;
}

Result<ResultBlock> ResultArena::take(std::size_t size_bytes) {
  const std::size_t pages = std::max<std::size_t>((size_bytes + kPageBytes - 1) / kPageBytes, 1);
  if (pages * kPageBytes > shared_->memory.size_bytes()) {
    return invalid("results of " + std::to_string(size_bytes) +
                   " bytes are more than the GPU's result memory; raise device.result_mib");
  }
  const auto first = shared_->pages.take(pages);
  if (!first) {
    return fail(ErrorCode::kOverloaded,
                "the GPU's result memory is full; try again later, or raise device.result_mib");
  }
  std::byte* host = shared_->memory.host() + *first * kPageBytes;
  const auto give_back = [shared = shared_, first = *first, pages](std::byte*) {
    shared->pages.give_back(first, pages);
  };
  return ResultBlock{std::shared_ptr<std::byte[]>(host, give_back),
                     shared_->memory.address() + *first * kPageBytes, size_bytes};
}

}  // namespace volvox::gpu
