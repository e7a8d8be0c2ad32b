#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "routing/attempts.h"
#include "routing/credits.h"
#include "routing/membership.h"
#include "routing/model_table.h"
#include "routing/node_load.h"

namespace volvox {

// How requests are spread.
enum class PlacementKind : std::uint8_t {
  kBalance,  // on the better of two candidates drawn at random
  kPack,     // on the fullest one that has room in its batches, so that few nodes run full ones
  kRandom,   // on any: the baseline
};

struct RouterLimits {
  MembershipLimits membership{};
  PlacementKind placement = PlacementKind::kBalance;
  std::uint32_t max_attempts = 3;  // at one request
  double reserved_share = 0.1;     // of the credit, for urgent requests
  // A young router does not know yet who is there: for so long a session is not lost for its home is unknown,
  // and no model not found.
  Duration settle_after = std::chrono::seconds(5);
};
Status check(const RouterLimits& limits);

// What placement may know of a request: its header, never its body.
struct RequestInfo {
  std::string_view model;
  std::uint32_t model_version = 0;  // 0: the newest
  std::uint32_t cells_hint = 0;     // 0: unknown
  std::uint64_t bytes = 0;          // of the body
  bool urgent = false;              // may use the reserved credit
  std::string_view home{};          // the node that has its session; empty: it stands alone
  TimePoint deadline = TimePoint::max();
  std::uint64_t affinity =
      0;  // the same number to the same node, while it may take it; 0: wherever it is best
};

// What a node says of itself, to one router, every 100 ms.
struct LoadReport {
  Ping echo = -1;               // the last ping that it got from this router
  Duration work{};              // that other routers' requests leave to do, by its own estimate
  Duration wait{};              // until a request that came now would begin
  std::uint32_t rows = 0;       // of its batches that other routers' requests use
  std::uint32_t full_rows = 0;  // that there are
  CreditGrant requests, bytes;
  std::vector<Duration> cell_costs{};  // by number of the offer; empty: as before
  std::vector<Duration> waits{};       // as `wait`, of a request of that offer; empty: as `wait`
};

struct Placement {
  NodeId node;
  AttemptId attempt;
  std::uint32_t version = 0;  // of the model; 0: of a session's part, whose home knows
};

struct RouterEvent {
  enum class Kind : std::uint8_t {
    kMember,    // `member` says what
    kRetry,     // this attempt's node is gone: call retry() with it, or end() it
    kConflict,  // `conflict`: a node offers other weights under a number that others serve; it gets no
                // traffic
  };
  Kind kind{};
  MemberEvent member;
  AttemptId attempt;
  DigestConflict conflict;
};
using RouterEvents = std::vector<RouterEvent>;

// Decides for one router process where each request runs, from what the nodes report, and what becomes of it
// when its node dies. It sends nothing: it takes events, and its answers say what to do.
//
// A request goes to the better of two candidates, drawn by the router's own generator: where it would be done
// first, by the node's costs and what is under way there (NodeLoad). A session's goes to its home.
//
// Pure: no clock, no thread, no message. One thread at a time. docs/cluster.md has the rules.
class Router {
 public:
  // `limits` must have passed check(). The same seed and calls give the same answers.
  Router(const RouterLimits& limits, std::uint64_t seed);

  // Members: see Membership.
  Result<NodeId> join(std::string_view name, Incarnation incarnation, std::span<const ModelOffer> offers,
                      TimePoint now, RouterEvents& out);
  // The member offers these now, in place of those before. What is under way there stays. False: no member.
  bool offer(NodeId node, std::span<const ModelOffer> offers, RouterEvents& out);
  // What the member takes: it says so with its join, and then in each report.
  void grant(NodeId node, const CreditGrant& requests, const CreditGrant& bytes);
  Ping ping(TimePoint now) { return members_.ping(now); }
  bool report(NodeId node, const LoadReport& report, TimePoint now, RouterEvents& out);
  void heard(NodeId node, TimePoint now, RouterEvents& out);
  void advance(TimePoint now, RouterEvents& out);
  void drain(NodeId node, RouterEvents& out);
  void leave(NodeId node, RouterEvents& out);
  void disconnected(NodeId node, TimePoint now, RouterEvents& out);

  // Where to run a request now; `request` is the caller's number for it. Errors: MODEL_NOT_FOUND, UNAVAILABLE
  // (nobody may run it now), OVERLOADED (nobody has credit), DEADLINE_EXCEEDED (too late, or it would be),
  // SESSION_LOST (its home is gone), SESSION_EXPIRED (its home was drained).
  Result<Placement> place(std::uint64_t request, const RequestInfo& info, TimePoint now);
  // Where to run it next; not on the node where it was, if there is another, and not there at all if that was
  // full. The old attempt is over, and with an error the request is, too: besides place()'s, after
  // max_attempts UNAVAILABLE, or OVERLOADED where the last one was full.
  enum class Why : std::uint8_t { kLost, kFull };
  Result<Placement> retry(AttemptId last, const RequestInfo& info, TimePoint now, Why why = Why::kLost);
  // The attempt could not be sent: its node has not heard of it, and still gives credit for it. Then retry()
  // or end() it as any other.
  void unsent(AttemptId attempt);
  // An answer came, or nobody waits any more. The request's number if this was the newest attempt, and it had
  // not ended before; otherwise the answer is to be dropped.
  std::optional<std::uint64_t> end(AttemptId attempt);

  // The node that runs the attempt, to send it a cancel.
  std::optional<NodeId> node(AttemptId attempt) const { return attempts_.node(attempt); }
  std::optional<std::uint64_t> request(AttemptId attempt) const { return attempts_.request(attempt); }
  std::size_t in_flight() const { return attempts_.size(); }
  std::size_t in_flight(NodeId node) const { return attempts_.on(node); }

  const Membership& members() const { return members_; }
  std::size_t usable_nodes() const { return members_.usable(); }  // that take requests
  // Whether the nodes that are to come have had the time to.
  bool settled() const { return members_.age() >= limits_.settle_after; }
  // Of the weights that get traffic, if anybody offers the version.
  std::optional<std::uint64_t> digest(std::string_view model, std::uint32_t version) const {
    return models_.digest(model, version);
  }
  Duration estimate(NodeId node) const;  // the work that is under way there
  // What this router tells the node with its next ping.
  const CreditLine& request_credit(NodeId node) const { return nodes_[node.index].requests; }
  const CreditLine& byte_credit(NodeId node) const { return nodes_[node.index].bytes; }

 private:
  using Candidate = ModelTable::Candidate;
  using Candidates = std::span<const Candidate>;
  struct Node {
    NodeLoad load;
    CreditLine requests, bytes;
    Duration wait{};
    std::uint32_t rows = 0, full_rows = 0;
    std::uint64_t name_hash = 0;
  };
  struct Question {
    const RequestInfo& info;
    TimePoint now;
    NodeId not_on;          // of nobody: anywhere
    bool strictly = false;  // nor if there is no other
  };
  struct Choice {
    NodeId node;
    Charge charge;
    std::uint32_t version = 0;
  };

  void take_in(MemberEvents& events, RouterEvents& out);
  // By its state and whether its connection stands, which changes without an event.
  void judge(NodeId node);
  void lose(NodeId node, RouterEvents& out);
  static void tell(std::vector<DigestConflict>& conflicts, RouterEvents& out);

  Result<Choice> choose(const Question& question);
  Result<Choice> at_home(const Question& question);
  Error homeless(std::string_view home) const;
  const Candidate* pick(Candidates candidates, const Question& question);
  const Candidate* nearest(Candidates candidates, const Question& question) const;
  const Candidate* better(const Candidate& one, const Candidate& other, const Question& question) const;
  const Candidate* fullest(Candidates candidates, std::size_t first, const Question& question) const;
  const Candidate* next_free(Candidates candidates, std::size_t first, const Question& question) const;
  bool begins_in_time(const Candidate& candidate, const Question& question) const;
  const Candidate* in_time(Candidates candidates, const Question& question);
  bool may_take(NodeId node, const Question& question) const;
  Duration cost(const Candidate& candidate, const Question& question) const;
  void book(const Choice& choice);
  void unbook(AttemptId attempt, void (CreditLine::*how)(std::uint64_t) = &CreditLine::finished);

  RouterLimits limits_;
  std::mt19937_64 dice_;
  Membership members_;
  ModelTable models_;
  AttemptTable attempts_;
  std::vector<Node> nodes_;  // by index
};

}  // namespace volvox
