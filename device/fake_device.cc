#include "device/fake_device.h"

#include <utility>

#include "device/fake_queue.h"
#include "device/host_memory.h"

namespace volvox {
namespace {

class FakePages final : public InputPages {
 public:
  FakePages(std::span<const InputBlock> blocks, std::shared_ptr<AddressBook> book, bool landed)
      : pages_(host_pages(blocks)), book_(std::move(book)) {
    for (const InputBlock& block : blocks) {
      book_->add(address_of(block.bytes.data()), block.bytes.size(), AddressBook::Use::kInput, landed);
    }
  }
  ~FakePages() override {
    for (DeviceAddress address : pages_->addresses()) book_->remove(address);
  }
  std::span<const DeviceAddress> addresses() const override { return pages_->addresses(); }
  bool landed() const override {
    for (DeviceAddress address : pages_->addresses()) {
      if (!book_->landed(address)) return false;
    }
    return true;
  }

 private:
  std::unique_ptr<InputPages> pages_;
  std::shared_ptr<AddressBook> book_;
};

std::string answer_in_words(AddressBook::Answer answer, std::uint32_t row, const char* what) {
  const std::string where = "row " + std::to_string(row) + ": " + what;
  if (answer == AddressBook::Answer::kNotLanded) return where + " has not landed";
  return where + " is outside of all staged inputs and results, or was released";
}

}  // namespace

FakeDevice::FakeDevice(Options options)
    : InterpretedDevice(options.config),
      options_(std::move(options)),
      addresses_(std::make_shared<AddressBook>()) {}

FakeDevice::~FakeDevice() = default;

Result<std::unique_ptr<Queue>> FakeDevice::open(const QueueConfig& config) {
  const std::lock_guard lock(mutex_);
  auto queue = std::make_unique<FakeQueue>(*this, queues_.size(), config);
  queues_.push_back(queue.get());
  return queue;
}

Result<std::unique_ptr<InputPages>> FakeDevice::stage(std::span<const InputBlock> blocks) {
  return std::make_unique<FakePages>(blocks, addresses_, !options_.hold_inputs);
}

Result<ResultBlock> FakeDevice::results(std::size_t size_bytes) {
  auto block = InterpretedDevice::results(size_bytes);
  if (!block) return block;
  const DeviceAddress address = block->address;
  addresses_->add(address, size_bytes, AddressBook::Use::kResult, true);
  // The block's memory goes when its last holder lets go; then it leaves the book, too.
  block->host = std::shared_ptr<std::byte[]>(
      block->host.get(),
      [memory = block->host, book = addresses_, address](std::byte*) { book->remove(address); });
  return block;
}

Status FakeDevice::read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) {
  wait_for_slots();
  return InterpretedDevice::read_slot(pool, slot, to);
}

Status FakeDevice::write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) {
  wait_for_slots();
  return InterpretedDevice::write_slot(pool, slot, from);
}

void FakeDevice::wait_for_slots() {
  std::unique_lock lock(mutex_);
  ++waiting_for_slots_;
  changed_.wait(lock, [this] { return !holds_slots_; });
  --waiting_for_slots_;
}

void FakeDevice::hold_slots(bool on) {
  const std::lock_guard lock(mutex_);
  holds_slots_ = on;
  changed_.notify_all();
}

std::size_t FakeDevice::waiting_for_slots() const {
  const std::lock_guard lock(mutex_);
  return waiting_for_slots_;
}

std::size_t FakeDevice::run(std::size_t queue, std::size_t tasks) {
  const std::lock_guard lock(mutex_);
  if (queue >= queues_.size() || queues_[queue] == nullptr) return 0;
  return queues_[queue]->locked_run(tasks);
}

void FakeDevice::withhold(std::size_t queue, bool on) {
  const std::lock_guard lock(mutex_);
  if (queue < queues_.size() && queues_[queue] != nullptr) queues_[queue]->locked_withhold(on);
  changed_.notify_all();
}

void FakeDevice::fail_task(std::size_t queue, TaskSeq seq) {
  const std::lock_guard lock(mutex_);
  if (queue < queues_.size() && queues_[queue] != nullptr) queues_[queue]->locked_fail_task(seq);
}

void FakeDevice::refuse_task(std::size_t queue, TaskSeq seq) {
  const std::lock_guard lock(mutex_);
  if (queue < queues_.size() && queues_[queue] != nullptr) queues_[queue]->locked_refuse_task(seq);
}

void FakeDevice::land_inputs() {
  addresses_->land_all();
}

std::size_t FakeDevice::pending(std::size_t queue) const {
  const std::lock_guard lock(mutex_);
  return queue < queues_.size() && queues_[queue] != nullptr ? queues_[queue]->locked_pending() : 0;
}

std::vector<FakeDevice::Ran> FakeDevice::ran() const {
  const std::lock_guard lock(mutex_);
  return ran_;
}

std::vector<std::string> FakeDevice::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

std::string FakeDevice::check_addresses(const InterpretedCell& cell, const ResolvedRows& rows) const {
  for (std::uint32_t p = 0; p < cell.shape().pulls; ++p) {
    if (cell.pull_bytes(p) == 0) continue;  // the cell reads no such input
    for (std::uint32_t r = 0; r < rows.rows; ++r) {
      if (rows.pulls[p][r] == 0) continue;
      const auto answer = addresses_->ask(rows.pulls[p][r], cell.pull_bytes(p), AddressBook::Use::kInput);
      if (answer != AddressBook::Answer::kYes) return answer_in_words(answer, r, "its input");
    }
  }
  for (std::uint32_t p = 0; p < cell.shape().pushes; ++p) {
    for (const auto& push : rows.pushes[p]) {
      const auto answer = addresses_->ask(push.address, cell.push_bytes(p), AddressBook::Use::kResult);
      if (answer != AddressBook::Answer::kYes) return answer_in_words(answer, push.row, "its result");
    }
  }
  return {};
}

}  // namespace volvox
