#include "gpu/memory/input_arena.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
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
      pages_(mirror.size_bytes() / kPageBytes, PageBitmap::Cursors::kOne),
      flush_of_(mirror.size_bytes() / kPageBytes),
      mirror_(std::move(mirror)) {}

InputArena::~InputArena() {
  if (stream_ != 0) (void)driver_.synchronise(stream_);
  for (EventId event : events_) driver_.destroy_event(event);
  if (stream_ != 0) driver_.destroy_stream(stream_);
}

bool InputArena::take(std::span<const InputBlock> blocks, ArenaPages& pages) {
  for (const InputBlock& block : blocks) {
    const auto first = pages_.take(pages_of(block.bytes.size()));
    if (!first) {
      give_back(pages.ranges_);
      pages.ranges_.count = 0;
      return false;
    }
    pages.addresses_[pages.ranges_.count] = mirror_.address(*first * kPageBytes);
    pages.ranges_.add({*first, pages_of(block.bytes.size())});
  }
  return true;
}

Result<std::unique_ptr<InputPages>> InputArena::stage(std::span<const InputBlock> blocks, TimePoint now) {
  if (blocks.size() > kMaxInputs) {
    return invalid("a request has " + std::to_string(kMaxInputs) + " inputs at most, not " +
                   std::to_string(blocks.size()));
  }
  std::size_t wanted = 0;
  for (const InputBlock& block : blocks) wanted += pages_of(block.bytes.size());
  if (wanted * kPageBytes > mirror_.size_bytes()) {
    return invalid("inputs of " + std::to_string(wanted * kPageBytes) +
                   " bytes are more than the GPU's input memory; raise device.input_mib");
  }
  auto pages = std::make_unique<ArenaPages>(*this);
  if (!take(blocks, *pages)) {
    const std::lock_guard giving(giving_);
    look();
    if (!take(blocks, *pages)) {
      // What was given back before it was copied is free after the next copy, which nobody else may ask for.
      if (Status ok = flush(); !ok) return tl::unexpected(ok.error());
      return fail(ErrorCode::kOverloaded,
                  "the GPU's input memory is full; try again later, or raise device.input_mib");
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    std::memcpy(mirror_.host(pages->ranges_.all[i].first * kPageBytes), blocks[i].bytes.data(),
                blocks[i].bytes.size());
  bool due = false;
  std::uint64_t number = 0;
  if (!blocks.empty()) {  // nothing has landed at once
    const std::lock_guard lock(mutex_);
    const std::size_t dying = dying_.size() + live_ + 1;
    if (dying_.capacity() < dying) dying_.reserve(2 * dying);
    for (const Range& range : pages->ranges_.span())
      mirror_.touch(range.first * kPageBytes, range.pages * kPageBytes, now);
    number = sealed_ + 1;
    ++live_;
    due = mirror_.batch().due(now);
  }
  pages->flush_ = number;
  for (const Range& range : pages->ranges_.span())
    std::fill_n(flush_of_.begin() + static_cast<std::ptrdiff_t>(range.first), range.pages, number);
  if (due) {
    // Where somebody gives copies now, these go with who comes next.
    const std::unique_lock giving(giving_, std::try_to_lock);
    if (giving.owns_lock()) (void)flush();  // what fails is found out by whoever waits for it: landed()
  }
  return pages;
}

void InputArena::look() {
  while (passed_ < flushed_) {
    const auto passed = driver_.passed(events_[(passed_ + 1) % kFlushes]);
    if (!passed) broken_ = !driver_.health();
    if (!passed || !*passed) break;
    ++passed_;
  }
  const std::lock_guard lock(mutex_);
  auto first = dying_.begin();
  for (; first != dying_.end() && first->flush <= passed_; ++first) give_back(first->ranges);
  dying_.erase(dying_.begin(), first);
}

Status InputArena::flush() {
  look();
  if (flushed_ - passed_ >= kFlushes) return {};  // later: the copies before it are not made yet
  if (given_.empty()) {
    {
      const std::lock_guard lock(mutex_);
      if (mirror_.batch().empty()) return {};
      mirror_.take(given_);
      ++sealed_;
    }
    UploadBatch::merge_neighbours(given_);
  }
  // Copies that fail are made with the next: pages wait for their number.
  if (Status ok = mirror_.copy(driver_, stream_, given_); !ok) return ok;
  if (Status ok = driver_.record(events_[(flushed_ + 1) % kFlushes], stream_); !ok) return ok;
  given_.clear();
  ++flushed_;
  return {};
}

bool InputArena::has_landed(DeviceAddress address) const {
  if (address < begin() || address >= end()) return true;
  return passed_ >= flush_of_[(address - begin()) / kPageBytes];
}

// Of a GPU that is broken all counts as landed: its requests run, so that their queue finds out and fails.
//
// The driver is asked for nothing before the copy has been given to it: most ask as soon as they have staged.
bool InputArena::landed(std::uint64_t flush_number) {
  if (passed_ >= flush_number) return true;
  const std::unique_lock giving(giving_, std::try_to_lock);
  if (!giving.owns_lock()) return false;  // somebody looks
  if (flushed_ < flush_number) {
    bool due = !given_.empty();
    if (!due) {
      const std::lock_guard lock(mutex_);
      due = mirror_.batch().due(std::chrono::steady_clock::now());
    }
    if (due && !flush()) broken_ = !driver_.health();
    return broken_;
  }
  look();
  return passed_ >= flush_number || broken_;
}

Status InputArena::order(StreamId stream) {
  std::unique_lock giving(giving_);
  std::uint64_t last = 0;  // what had been staged at the call
  {
    const std::lock_guard lock(mutex_);
    last = sealed_ + (mirror_.batch().empty() ? 0 : 1);
  }
  while (flushed_ < last) {
    const std::uint64_t before = flushed_;
    if (Status ok = flush(); !ok) return ok;
    if (flushed_ > before) continue;
    if (Status ok = driver_.health(); !ok) return ok;
    giving.unlock();
    std::this_thread::yield();
    giving.lock();
  }
  look();
  if (passed_ == flushed_) return {};
  return driver_.wait(stream, events_[flushed_ % kFlushes]);
}

void InputArena::release(std::uint64_t flush_number, const Ranges& ranges) {
  if (passed_ >= flush_number) {
    give_back(ranges);
  } else {
    const std::lock_guard lock(mutex_);
    if (passed_ >= flush_number) {  // in between, and nobody may look again
      give_back(ranges);
    } else {
      auto later = dying_.end();
      while (later != dying_.begin() && std::prev(later)->flush > flush_number) --later;
      dying_.insert(later, {flush_number, ranges});
    }
  }
  if (flush_number != 0) --live_;
}

void InputArena::give_back(const Ranges& ranges) {
  for (const Range& range : ranges.span()) pages_.give_back(range.first, range.pages);
}

std::size_t InputArena::free_bytes() const {
  return pages_.free_pages() * kPageBytes;
}

}  // namespace volvox::gpu
