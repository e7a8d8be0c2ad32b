#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "actors/http/http_exchange.h"
#include "actors/work/work.h"
#include "base/time.h"
#include "config/schema.h"
#include "monitoring/metrics/http_metrics.h"
#include "protocol/v2/request_codec.h"

namespace volvox {

struct SequenceLimits {
  std::size_t max_sequences = 0;  // ended ones that are remembered included
  std::size_t max_waiting = 0;    // requests of one sequence besides the one that runs
  Duration idle{};      // without a request, after which a sequence is forgotten: its session is gone
  Duration remember{};  // an ended one, so that its end can be repeated
  std::size_t max_per_client = static_cast<std::size_t>(-1);  // begun by one, ended ones included
};
SequenceLimits sequence_limits(const ServeConfig& config);

// A request that names a sequence.
struct SequenceRequest {
  std::string model;
  std::uint32_t version = 0;  // a start: with which it begins. Otherwise 0: whichever it began with
  V2Sequence sequence;
  std::string id;  // the request's own; empty: none, so that a repeat cannot be told from another part
  std::uint64_t content = 0;  // a hash of the body
  std::string client{};       // who sends it: counted with those it begins
};

class SequencePlace;

// Clients of the Open Inference Protocol name their streams themselves and count no parts; a session
// (docs/sessions.md) has a token that the server issues, and numbered parts. This table stands between: each
// sequence has a session, one request of it runs at a time, in the order in which they came, and each is
// given the token and the number that are next. A request with the id and the content of the one before it is
// a repeat of it; one with the id of an earlier one came late, and is refused. A failed one takes those that
// stand behind it along: they would leave a hole in the stream. Any thread.
class HttpSequences {
 public:
  HttpSequences(const SequenceLimits& limits, HttpMetrics& metrics) : limits_(limits), metrics_(metrics) {}
  HttpSequences(const HttpSequences&) = delete;
  HttpSequences& operator=(const HttpSequences&) = delete;

  // Puts the request in line. SESSION_LOST for a sequence that is not known, SESSION_EXPIRED for one that has
  // ended, status 409 for one that is in use and for a request that came before, OVERLOADED past a bound,
  // INVALID_ARGUMENT for another version than it began with. Null: it starts and ends a sequence, and so
  // needs none.
  tl::expected<std::unique_ptr<SequencePlace>, HttpReply> enter(const SequenceRequest& request,
                                                                TimePoint now);

  // Forgets those that were idle for too long. May be called as often as one likes.
  void tidy(TimePoint now);

 private:
  friend class SequencePlace;
  using Key = std::pair<std::string, std::string>;  // model, id

  // By what a repeat is known.
  struct Part {
    std::string id;
    std::uint64_t content = 0;
    SessionOperation operation = SessionOperation::kNone;

    bool is_named(const std::string& other) const { return !id.empty() && id == other; }
    bool operator==(const Part&) const = default;
  };
  struct Sequence {
    Key key;
    std::string client;  // that began it
    std::uint32_t version = 0;
    std::uint64_t nonce = 0;
    WireSessionToken token;           // of the last answer
    std::uint64_t next = 0;           // the number of the part that comes next
    std::optional<Part> last;         // the part before
    std::deque<std::string> earlier;  // ids of the parts before that one, as far as they are kept
    std::optional<Part> doubtful;     // nobody knows whether this one was the next
    bool gone = false;                // no longer in the table
    std::deque<SequencePlace*> line;  // the first has its turn
    TimePoint touched{};

    bool ended() const { return last && last->operation == SessionOperation::kEnd; }
  };
  using SequencePtr = std::shared_ptr<Sequence>;

  // All under the lock.
  tl::expected<SequencePtr, HttpReply> find(const SequenceRequest& request);
  tl::expected<SequencePtr, HttpReply> begin(const SequenceRequest& request, TimePoint now);
  static bool comes_late(const Sequence& sequence, const std::string& id);
  static bool may_repeat(const Sequence& sequence, const std::string& id);
  void forget_idle(TimePoint now);
  void forget(Sequence& sequence);
  void forget_client_of(const Sequence& sequence);
  std::optional<HttpReply> find_bound(const std::string& client, TimePoint now);
  void call_next(Sequence& sequence);
  tl::expected<WireSessionToken, HttpReply> next_token(Sequence& sequence, SequencePlace& place);
  static void refuse_behind(Sequence& sequence, std::size_t from, const std::string& but);
  void leave(SequencePlace& place, const std::optional<Outcome>& outcome);
  static void commit(Sequence& sequence, const SequencePlace& place, const Outcome& outcome);

  const SequenceLimits limits_;
  HttpMetrics& metrics_;
  std::mutex mutex_;
  std::map<Key, SequencePtr> sequences_;
  std::map<std::string, std::size_t> begun_;  // of these, by client
  TimePoint tidied_{};
};

// A request's place in the line of its sequence. Destroyed without ended(), the request has failed. Used by
// one thread; must not outlive the table.
class SequencePlace {
 public:
  using Turn = tl::expected<WireSessionToken, HttpReply>;

  SequencePlace(HttpSequences& table, std::shared_ptr<HttpSequences::Sequence> sequence,
                const SequenceRequest& request);
  ~SequencePlace();
  SequencePlace(const SequencePlace&) = delete;
  SequencePlace& operator=(const SequencePlace&) = delete;

  // With which the sequence began.
  std::uint32_t version() const { return sequence_->version; }
  SessionOperation operation() const { return part_.operation; }
  // The token that the request is to carry, once it is its turn; or why it will never be.
  std::optional<Turn> wait_for(Duration at_most);
  // How the request ended, after its turn came.
  void ended(const Outcome& outcome);

 private:
  friend class HttpSequences;

  HttpSequences& table_;
  const std::shared_ptr<HttpSequences::Sequence> sequence_;
  const HttpSequences::Part part_;
  bool left_ = true;      // the line, or not in it yet
  bool repeats_ = false;  // runs nothing, if all is well
  std::optional<Turn> turn_;
  std::condition_variable called_;
};

}  // namespace volvox
