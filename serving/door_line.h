#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace volvox {

// Who is let through to a server that has a thread for each, and in which order: whoever has fewest there
// first, of these whoever came first, so that one client's many requests do not stand before the single one
// of another. Some threads are for questions only, which take no time: requests with contents, which may be
// sent slowly, never take them all. Decides only. One thread at a time.
class DoorLine {
 public:
  using Id = std::uint64_t;

  // `for_questions` of the `threads` are taken by questions only.
  DoorLine(std::size_t threads, std::size_t for_questions)
      : threads_(threads), contents_(threads - for_questions) {}

  void wait(Id id, const std::string& client, bool question);
  // The next that goes through, if one may.
  std::optional<Id> next();
  // It has been answered, or is gone, waiting or not.
  void left(Id id);

 private:
  struct Place {
    Id id = 0;
    std::string client;
    bool question = false;
  };

  const std::size_t threads_, contents_;
  std::list<Place> line_;
  std::map<Id, Place> through_;
  std::map<std::string, std::size_t> held_;  // through, by client
  std::size_t with_contents_ = 0;            // through
};

}  // namespace volvox
