#pragma once

#include <cstdint>
#include <map>

#include "base/error.h"

namespace volvox {

// A node can hold so many requests, or bytes of them, and several routers send to it without knowing of each
// other. If each believed to have it alone, the node would drown; if each had a fixed share, an idle router
// would keep a busy one waiting. So the node hands out credit, and a router spends no more than it has.
//
// All numbers are cumulative since the router joined: a message that is lost or repeated costs nothing. A
// limit never goes down; what a router does not use beyond its window it gives back. Each class counts one
// currency: requests, or bytes. Pure; one thread at a time.

// What a node tells one router.
struct CreditGrant {
  std::uint64_t limit = 0;   // it may have sent so much in all, apart from what it gave back
  std::uint64_t window = 0;  // how much of that it may hold now: in flight, or not yet spent

  bool operator==(const CreditGrant&) const = default;
};

// The node's side: splits `total` among the routers, by what each wanted lately, with a floor for all.
// Whatever happens, no more than `total` is out: limits less what was finished or given back.
class CreditSplit {
 public:
  using Router = std::uint32_t;  // the caller's number for it

  // `floor_share`: the part of the total that is split evenly, whoever wants how much; from 0 to 1.
  CreditSplit(std::uint64_t total, double floor_share);

  // It has nothing before the next split().
  void add(Router router);
  // It died, or left: its share is free at once.
  void remove(Router router);

  // It sent something that costs `amount`. OVERLOADED: that is more than it was granted.
  Status take(Router router, std::uint64_t amount);
  // Something that it sent has ended here.
  void finish(Router router, std::uint64_t amount);
  // What it said of itself: all that it wanted to send so far, sent or not, and all that it gave back.
  void heard(Router router, std::uint64_t wanted, std::uint64_t given_back);

  // Splits anew; called once before each round of reports.
  void split();
  // Much has ended since the last split, that the routers could spend again.
  bool is_due() const;
  CreditGrant grant(Router router) const;
  std::uint64_t out() const;  // held by all routers together

 private:
  struct Share {
    std::uint64_t limit = 0, window = 0, taken = 0, finished = 0, given_back = 0, wanted = 0, seen = 0;
    double demand = 0;
    std::uint64_t held() const { return limit - finished - given_back; }
  };

  void set_windows();

  std::uint64_t total_;
  double floor_share_;
  std::map<Router, Share> shares_;
  std::uint64_t ended_ = 0;  // since the last split
};

// The router's side, for one node.
class CreditLine {
 public:
  // `reserved_share`: the part of the window that only urgent requests may use.
  explicit CreditLine(double reserved_share = 0) : reserved_share_(reserved_share) {}

  bool may_send(std::uint64_t amount, bool urgent) const;
  void sent(std::uint64_t amount) { sent_ += amount; }
  void finished(std::uint64_t amount) { finished_ += amount; }
  // What sent() said was not sent after all: the node will not say that it has ended.
  void unsent(std::uint64_t amount) {
    sent_ -= amount;
    missed_ += amount;
  }
  // Something could not be sent for want of credit: the node shall know that more is wanted.
  void missed(std::uint64_t amount) { missed_ += amount; }
  void granted(const CreditGrant& grant);

  // To tell the node.
  std::uint64_t wanted() const { return sent_ + missed_; }
  std::uint64_t given_back() const { return given_back_; }
  // Whether the node has granted anything yet.
  bool heard() const { return limit_ > 0; }
  std::uint64_t available() const { return limit_ - given_back_ - sent_; }

 private:
  double reserved_share_;
  std::uint64_t limit_ = 0, window_ = 0, sent_ = 0, finished_ = 0, given_back_ = 0, missed_ = 0;
};

}  // namespace volvox
