#include "gpu/memory/input_arena.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace volvox::gpu {
namespace {

constexpr std::size_t kPageBytes = 256;
constexpr std::size_t kFlushes = 64;  // in flight at once

std::size_t pages_of(std::size_t size_bytes) {
  return std::max<std::size_t>((size_bytes + kPageBytes - 1) / kPageBytes, 1);
}

}  // namespace

class ArenaPages final : public InputPages {
 public:
  explicit ArenaPages(InputArena& arena) : arena_(arena) {}
  ~ArenaPages() override { arena_.release(flush_, ranges_); }
  std::span<const DeviceAddress> addresses() const override { return {addresses_.data(), ranges_.count}; }
  bool landed() const override { return arena_.landed(flush_); }

 private:
  friend class InputArena;
  InputArena& arena_;
  std::uint64_t flush_ = 0;
  std::array<DeviceAddress, kMaxInputs> addresses_{};
  InputArena::Ranges ranges_;
};

Result<std::unique_ptr<InputArena>> InputArena::make(Driver& driver, std::size_t size_bytes) {
  auto mirror = Mirror::make(driver, pages_of(size_bytes) * kPageBytes);
  if (!mirror) return tl::unexpected(mirror.error());
  std::unique_ptr<InputArena> made(new InputArena(driver, std::move(*mirror)));
  auto stream = driver.make_stream();
  if (!stream) return tl::unexpected(stream.error());
  made->stream_ = *stream;
  for (std::size_t i = 0; i < kFlushes; ++i) {
    auto event = driver.make_event();
    if (!event) return tl::unexpected(event.error());
    made->events_.push_back(*event);
  }
  return made;
}

InputArena::InputArena(Driver& driver, Mirror mirror)
    : driver_(driver),
      mirror_(std::move(mirror)),
      pages_(mirror_.size_bytes() / kPageBytes),
      flush_of_(mirror_.size_bytes() / kPageBytes) {}

InputArena::~InputArena() {
  if (stream_ != 0) (void)driver_.synchronise(stream_);
  for (EventId event : events_) driver_.destroy_event(event);
  if (stream_ != 0) driver_.destroy_stream(stream_);
}

Result<std::unique_ptr<InputPages>> InputArena::stage(std::span<const InputBlock> blocks, TimePoint now) {
  if (blocks.size() > kMaxInputs) {
    return invalid("a request has " + std::to_string(kMaxInputs) + " inputs at most, not " +
                   std::to_string(blocks.size()));
  }
  std::size_t wanted = 0;
  for (const InputBlock& block : blocks) wanted += pages_of(block.bytes.size());
  auto pages = std::make_unique<ArenaPages>(*this);  // before the lock, which its end takes
  const std::lock_guard lock(mutex_);
  if (wanted * kPageBytes > mirror_.size_bytes()) {
    return invalid("inputs of " + std::to_string(wanted * kPageBytes) +
                   " bytes are more than the GPU's input memory; raise device.input_mib");
  }
  look();
  pages->flush_ = blocks.empty() ? 0 : flushed_ + 1;  // nothing has landed at once
  for (const InputBlock& block : blocks) {
    const auto first = pages_.take(pages_of(block.bytes.size()));
    if (!first) {
      give_back(pages->ranges_);
      pages->ranges_.count = 0;
      // What was given back before it was copied is free after the next copy, which nobody else may ask for.
      if (Status ok = flush(); !ok) return tl::unexpected(ok.error());
      return fail(ErrorCode::kOverloaded,
                  "the GPU's input memory is full; try again later, or raise device.input_mib");
    }
    pages->addresses_[pages->ranges_.count] = mirror_.address(*first * kPageBytes);
    pages->ranges_.add({*first, pages_of(block.bytes.size())});
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Range& range = pages->ranges_.all[i];
    const std::size_t offset = range.first * kPageBytes;
    std::memcpy(mirror_.host(offset), blocks[i].bytes.data(), blocks[i].bytes.size());
    mirror_.touch(offset, range.pages * kPageBytes, now);
    std::fill_n(flush_of_.begin() + static_cast<std::ptrdiff_t>(range.first), range.pages, pages->flush_);
  }
  if (mirror_.batch().due(now)) {
    if (Status ok = flush(); !ok) return tl::unexpected(ok.error());
  }
  return pages;
}

void InputArena::look() {
  while (passed_ < flushed_) {
    const auto passed = driver_.passed(events_[(passed_ + 1) % kFlushes]);
    if (!passed || !*passed) break;
    ++passed_;
  }
  while (!dying_.empty() && dying_.front().flush <= passed_) {
    give_back(dying_.front().ranges);
    dying_.pop_front();
  }
}

Status InputArena::flush() {
  if (mirror_.batch().empty()) return {};
  look();
  if (flushed_ - passed_ >= kFlushes) return {};  // later: the copies before it are not made yet
  if (Status ok = mirror_.flush(driver_, stream_); !ok) return ok;
  ++flushed_;
  return driver_.record(events_[flushed_ % kFlushes], stream_);
}

bool InputArena::has_landed(DeviceAddress address) const {
  if (address < begin() || address >= end()) return true;
  return passed_ >= flush_of_[(address - begin()) / kPageBytes];
}

bool InputArena::landed(std::uint64_t flush_number) {
  const std::lock_guard lock(mutex_);
  if (flushed_ < flush_number && mirror_.batch().due(std::chrono::steady_clock::now())) (void)flush();
  if (passed_ < flush_number) look();
  return passed_ >= flush_number;
}

Status InputArena::order(StreamId stream) {
  std::unique_lock lock(mutex_);
  while (!mirror_.batch().empty()) {
    if (Status ok = flush(); !ok) return ok;
    if (mirror_.batch().empty()) break;
    if (Status ok = driver_.health(); !ok) return ok;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  look();
  if (passed_ == flushed_) return {};
  return driver_.wait(stream, events_[flushed_ % kFlushes]);
}

void InputArena::release(std::uint64_t flush_number, const Ranges& ranges) {
  if (ranges.count == 0) return;
  const std::lock_guard lock(mutex_);
  if (passed_ >= flush_number) return give_back(ranges);
  const auto later = std::find_if(dying_.begin(), dying_.end(),
                                  [&](const Dying& dying) { return dying.flush > flush_number; });
  dying_.insert(later, {flush_number, ranges});
}

void InputArena::give_back(const Ranges& ranges) {
  for (const Range& range : ranges.span()) pages_.give_back(range.first, range.pages);
}

std::size_t InputArena::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return pages_.free_pages() * kPageBytes;
}

}  // namespace volvox::gpu
