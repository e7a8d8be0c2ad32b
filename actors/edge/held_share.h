#pragma once

#include <memory>
#include <utility>

namespace volvox {

// What one request holds of its owner's bounds; given back to it by the destructor. `What` says how much, and
// of whom. Any thread, as its owner.
template <class Owner, class What>
class HeldShare {
 public:
  HeldShare() = default;  // of nothing
  HeldShare(std::shared_ptr<Owner> owner, What what) : owner_(std::move(owner)), what_(std::move(what)) {}
  ~HeldShare() { reset(); }
  HeldShare(HeldShare&&) noexcept = default;
  HeldShare& operator=(HeldShare&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(what_, other.what_);
    other.reset();
    return *this;
  }

  explicit operator bool() const { return owner_ != nullptr; }
  void reset() {
    if (const auto owner = std::exchange(owner_, nullptr)) owner->give_back(what_);
  }

 private:
  std::shared_ptr<Owner> owner_;
  What what_{};
};

}  // namespace volvox
