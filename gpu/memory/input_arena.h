#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/brief_mutex.h"
#include "base/time.h"
#include "device/device.h"
#include "gpu/memory/mirror.h"
#include "gpu/memory/page_bitmap.h"

namespace volvox::gpu {

class ArenaPages;

// Inputs go up when the request arrives, long before its first task, on a stream of their own. Requests come
// in crowds: neighbours share a copy (UploadBatch). All memory is made at load; when it is full, stage()
// answers OVERLOADED, and a request that could never fit INVALID_ARGUMENT.
//
// Any thread may call, and many do, at once: what they share is locked for parts of a microsecond, and never
// while the driver is asked for anything. Must outlive the pages that it gives; they keep nothing of the
// blocks' owners, whose bytes are copied at once.
class InputArena {
 public:
  static Result<std::unique_ptr<InputArena>> make(Driver& driver, std::size_t size_bytes);
  ~InputArena();

  Result<std::unique_ptr<InputPages>> stage(std::span<const InputBlock> blocks, TimePoint now);
  // What follows in the stream sees everything that was staged before this call.
  Status order(StreamId stream);
  // Where inputs lie on the device.
  DeviceAddress begin() const { return mirror_.address(0); }
  DeviceAddress end() const { return mirror_.address(mirror_.size_bytes()); }
  // Whether the copy of what was staged there has been made, as far as anybody has looked; true for addresses
  // elsewhere. By whoever has the pages.
  bool has_landed(DeviceAddress address) const;
  std::size_t free_bytes() const;

 private:
  friend class ArenaPages;
  struct Range {
    std::size_t first = 0, pages = 0;
  };
  // Of one request. Kept in place: there are hundreds of thousands a second.
  struct Ranges {
    std::array<Range, kMaxInputs> all{};
    std::size_t count = 0;
    void add(Range range) { all[count++] = range; }
    std::span<const Range> span() const { return {all.data(), count}; }
  };
  struct Dying {
    std::uint64_t flush;
    Ranges ranges;
  };

  InputArena(Driver& driver, Mirror mirror);
  bool landed(std::uint64_t flush);
  void release(std::uint64_t flush, const Ranges& ranges);
  bool take(std::span<const InputBlock> blocks, ArenaPages& pages);
  void give_back(const Ranges& ranges);
  // These expect that nobody else gives copies.
  Status flush();
  void look();

  Driver& driver_;
  PageBitmap pages_;
  std::vector<std::uint64_t> flush_of_;  // by page: the copy that brings it; a page's, of who has it
  StreamId stream_ = 0;
  std::vector<EventId> events_;            // flush n records events_[n % size]
  std::mutex giving_;                      // of who gives copies to the stream
  std::vector<UploadBatch::Range> given_;  // what flush number sealed_ has to copy, until it is made
  std::atomic<std::uint64_t> flushed_{0};  // copies given to the stream
  std::atomic<std::uint64_t> passed_{0};   // of them made
  std::atomic<bool> broken_{false};        // the GPU: nothing lands any more
  std::atomic<std::size_t> live_{0};       // staged, and not released
  mutable BriefMutex mutex_;               // guards what follows
  Mirror mirror_;
  std::uint64_t sealed_ = 0;  // what is staged now goes with number sealed_ + 1
  // Released before they were copied, by number. There is room for all that live: a release cannot fail.
  std::vector<Dying> dying_;
};

}  // namespace volvox::gpu
