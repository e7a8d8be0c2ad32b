#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace volvox {

// Until the last holder lets go.
using LentNumber = std::shared_ptr<const std::uint32_t>;

// Rows of a session may be written by a task that is in flight although whoever keeps the sessions has failed
// and was replaced. So they are lent, by number, and what comes back is lent again only when everybody has
// let go of it. Any thread; shared, and alive as long as anything is lent.
class NumberLender : public std::enable_shared_from_this<NumberLender> {
 public:
  // Numbers 0 … count − 1.
  explicit NumberLender(std::uint32_t count);

  // One below `limit`; of those the highest, so that whoever has a low limit finds one. Null when all are
  // lent.
  LentNumber take(std::uint32_t limit = ~std::uint32_t{0});

 private:
  struct Lent;
  void give_back(std::uint32_t number);

  const std::uint32_t count_;
  std::mutex mutex_;
  std::vector<std::uint64_t> free_;  // a bit each
};

// What a part needs until nothing of it runs: its session's place, the slot that it reads, and the one that
// it writes.
struct LentRows {
  LentNumber place, from, into;  // from: null where it begins anew
};

// What sessions may have on one device (install/session_rows.h). Each that is there has a place, whatever its
// model; and a model has slots for as many as it has places. Any thread.
class SessionPlaces {
 public:
  explicit SessionPlaces(std::uint32_t count);

  std::uint32_t count() const { return count_; }
  // A place for a session of a model that has so many. Null when all are lent.
  LentNumber take(std::uint32_t places) { return places_->take(places); }
  // The slots of the installation with this serial, which has so many places: the same ones for whoever asks
  // while any of them is lent.
  std::shared_ptr<NumberLender> slots_of(std::uint64_t serial, std::uint32_t places);

 private:
  const std::uint32_t count_;
  const std::shared_ptr<NumberLender> places_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<NumberLender>> slots_;  // by serial
};

}  // namespace volvox
