#include "device/host_memory.h"

#include <limits>
#include <memory>
#include <new>
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

// The usual case, without lists: all inputs of a request lie in one block.
class HostPage final : public InputPages {
 public:
  explicit HostPage(const InputBlock& block)
      : address_(address_of(block.bytes.data())), owner_(block.owner) {}
  std::span<const DeviceAddress> addresses() const override { return {&address_, 1}; }
  bool landed() const override { return true; }

 private:
  DeviceAddress address_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

std::shared_ptr<std::byte[]> host_bytes(std::size_t size_bytes) {
  // Where nothing is written there need not be memory of one's own.
  alignas(kLine) static std::byte nothing{};
  if (size_bytes == 0) return {std::shared_ptr<std::byte[]>(), &nothing};
  if (size_bytes > std::numeric_limits<std::ptrdiff_t>::max() - kLine) return {};
  std::size_t room = size_bytes + kLine;
  try {
    const auto bytes = std::make_shared_for_overwrite<std::byte[]>(room);
    void* aligned = bytes.get();
    std::align(kLine, size_bytes, aligned, room);
    return {bytes, static_cast<std::byte*>(aligned)};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

std::unique_ptr<InputPages> host_pages(std::span<const InputBlock> blocks) {
  if (blocks.size() == 1) return std::make_unique<HostPage>(blocks.front());
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
