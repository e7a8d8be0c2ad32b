#include "device/host_memory.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace volvox {
namespace {

constexpr std::size_t kLine = 64;

class HostPages final : public InputPages {
 public:
  explicit HostPages(std::span<const InputBlock> blocks) {
    for (const InputBlock& block : blocks) {
      addresses_.push_back(address_of(block.bytes.data()));
      owners_.push_back(block.owner);
    }
  }
  std::span<const DeviceAddress> addresses() const override { return addresses_; }
  bool landed() const override { return true; }

 private:
  std::vector<DeviceAddress> addresses_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace

std::shared_ptr<std::byte[]> host_bytes(std::size_t size_bytes) {
  const std::size_t size = (size_bytes / kLine + 1) * kLine;
  if (size < size_bytes) return {};
  auto* bytes = static_cast<std::byte*>(std::aligned_alloc(kLine, size));
  if (bytes == nullptr) return {};
  std::memset(bytes, 0, size);
  return {bytes, [](std::byte* p) { std::free(p); }};
}

std::unique_ptr<InputPages> host_pages(std::span<const InputBlock> blocks) {
  return std::make_unique<HostPages>(blocks);
}

Result<ResultBlock> host_results(std::size_t size_bytes) {
  auto bytes = host_bytes(size_bytes);
  if (!bytes) {
    return fail(ErrorCode::kOverloaded,
                "no memory for results of " + std::to_string(size_bytes) + " bytes; try again later");
  }
  const DeviceAddress address = address_of(bytes.get());
  return ResultBlock{std::move(bytes), address, size_bytes};
}

}  // namespace volvox
