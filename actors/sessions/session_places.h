#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace volvox {

// Until the last holder lets go.
using LentNumber = std::shared_ptr<const std::uint32_t>;

// Rows of a session may be written by a task that is in flight although whoever keeps the sessions has failed
// and was replaced. So they are lent, by number, and what comes back is lent again only when everybody has let
// go of it. Any thread; shared, and alive as long as anything is lent.
class NumberLender : public std::enable_shared_from_this<NumberLender> {
 public:
  // Numbers 0 … count − 1.
  explicit NumberLender(std::uint32_t count);

  // One below `limit`; of those the highest, so that whoever has a low limit finds one. Null when all are
  // lent.
  LentNumber take(std::uint32_t limit);

 private:
  struct Lent;
  void give_back(std::uint32_t number);

  const std::uint32_t count_;
  std::mutex mutex_;
  std::vector<std::uint64_t> free_;  // a bit each
};

// The rows that a part writes.
struct LentRows {
  LentNumber slot, third;  // null: it needs none
};

// What sessions may have on one device (install/session_rows.h). Any thread.
class SessionPlaces {
 public:
  explicit SessionPlaces(std::uint32_t count);

  // Of sessions that can be there at once, of a model that has as many places.
  std::uint32_t count() const { return count_; }
  // For a model of so many places. Null when all are lent.
  LentNumber take_slot(std::uint32_t places) const { return slots_->take(2 * places); }
  LentNumber take_third(std::uint32_t places) const { return thirds_->take(places); }

 private:
  const std::uint32_t count_;
  const std::shared_ptr<NumberLender> slots_, thirds_;
};

}  // namespace volvox
