#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "monitoring/http/http_door.h"

namespace volvox {

// Pages may take a second to make, for instance while a scheduler does not answer. Two threads make them,
// each page by one at a time, for all who had asked when it began: asking often costs no more than asking
// once. All calls from any thread.
class PageMaker {
 public:
  using Id = std::uint64_t;
  // Called by the threads that make pages.
  using Done = std::function<void(const std::vector<Id>&, const HttpAnswer&)>;

  explicit PageMaker(Done done);
  ~PageMaker();  // waits for pages that are being made
  PageMaker(const PageMaker&) = delete;
  PageMaker& operator=(const PageMaker&) = delete;

  void ask(Id id, const std::string& name, const std::function<HttpAnswer()>& page);

 private:
  struct Wanted {
    std::function<HttpAnswer()> page;
    std::vector<Id> who;
    bool in_work = false;
  };

  void run();
  void end();
  Wanted* next();

  const Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Wanted> wanted_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace volvox
