#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

namespace volvox {

// A place for a session's state (install/session_rows.h), until the last holder lets go.
using PlacePtr = std::shared_ptr<const std::uint32_t>;

// A place's rows may be written by a task that is in flight although whoever keeps the sessions has failed
// and was replaced. So places are lent, and one that comes back is lent again only when everybody has let go
// of it. Any thread; shared, and alive as long as any place is lent.
class SessionPlaces : public std::enable_shared_from_this<SessionPlaces> {
 public:
  // Places 0 … count − 1.
  explicit SessionPlaces(std::uint32_t count);

  std::uint32_t count() const { return count_; }
  // One below `limit`, since a model may have fewer places than others; of those the highest, so that models
  // with few find theirs. Null when all are lent.
  PlacePtr take(std::uint32_t limit);

 private:
  struct Lent;
  void give_back(std::set<std::uint32_t>::node_type&& place);

  const std::uint32_t count_;
  std::mutex mutex_;
  std::set<std::uint32_t> free_;
};

}  // namespace volvox
