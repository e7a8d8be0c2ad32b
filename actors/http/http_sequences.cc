#include "actors/http/http_sequences.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/random_number.h"

namespace volvox {
namespace {

using Refused = tl::unexpected<HttpReply>;

constexpr std::size_t kEarlier = 16;  // ids of one sequence

Refused refused(ErrorCode code, const std::string& message) {
  return Refused(http_error({code, message}));
}

std::string about(std::string before, const std::string& id, const char* after) {
  return before.append("sequence ").append(id).append(after);
}

HttpReply conflict(const std::string& message) {
  return http_error(409, {ErrorCode::kInvalidArgument, message});
}

SessionOperation operation_of(const V2Sequence& sequence) {
  if (sequence.start) return SessionOperation::kBegin;
  return sequence.end ? SessionOperation::kEnd : SessionOperation::kContinue;
}

bool ends_session(const Outcome& outcome) {
  return outcome.error && (outcome.error->code == ErrorCode::kSessionLost ||
                           outcome.error->code == ErrorCode::kSessionExpired);
}

HttpReply unknown(const std::string& id) {
  return http_error({ErrorCode::kSessionLost, about("there is no ", id,
                                                    " of this model: it was never started, or ended, or has "
                                                    "been idle for too long; begin it with sequence_start")});
}

HttpReply over(const std::string& id) {
  return http_error(
      {ErrorCode::kSessionExpired, about({}, id, " has ended; begin it anew with sequence_start")});
}

HttpReply in_use(const std::string& id) {
  return conflict(about({}, id, " is in use; choose another id, or end it first with sequence_end"));
}

HttpReply late(const std::string& id) {
  return conflict(about("a request with this id was answered before, and ", id,
                        " has gone on since; only its newest request can be repeated"));
}

HttpReply another_content(const std::string& id) {
  return conflict(
      about("the request of ", id,
            " before this one had the same id and another content; give each an id of its own, or none"));
}

}  // namespace

SequenceLimits sequence_limits(const ServeConfig& config) {
  SequenceLimits limits;
  limits.max_sequences = config.http.max_sequences;
  limits.max_per_client = config.http.max_sequences_per_client;
  limits.max_waiting = config.sessions.max_waiting;
  limits.remember = std::chrono::milliseconds(config.sessions.remember_ms);
  // Its session remembers for so long, too, that it expired.
  limits.idle = std::chrono::milliseconds(config.sessions.idle_expiry_ms) + limits.remember;
  return limits;
}

tl::expected<std::unique_ptr<SequencePlace>, HttpReply> HttpSequences::enter(const SequenceRequest& request,
                                                                             TimePoint now) {
  std::unique_ptr<SequencePlace> place;  // its end takes the lock
  const std::lock_guard lock(mutex_);
  const std::string& id = request.sequence.id;
  if (request.sequence.start && request.sequence.end) {
    const auto found = sequences_.find({request.model, id});
    if (found == sequences_.end() || found->second->ended()) return nullptr;
    return Refused(in_use(id));
  }
  auto sequence = request.sequence.start ? begin(request, now) : find(request);
  if (!sequence) return Refused(std::move(sequence).error());
  if (comes_late(**sequence, request.id)) return Refused(late(id));
  if ((*sequence)->line.size() > limits_.max_waiting) {
    return refused(ErrorCode::kOverloaded, about("too many requests of ", id,
                                                 " wait; wait for their answers (sessions.max_waiting)"));
  }
  (*sequence)->touched = now;
  place = std::make_unique<SequencePlace>(*this, *sequence, request);
  (*sequence)->line.push_back(place.get());
  place->left_ = false;
  if ((*sequence)->line.size() == 1) call_next(**sequence);
  return place;
}

// A client that was not answered has sent it again since, and gone on.
bool HttpSequences::comes_late(const Sequence& sequence, const std::string& id) {
  const auto& earlier = sequence.earlier;
  return !id.empty() && std::find(earlier.begin(), earlier.end(), id) != earlier.end();
}

// Whether a request with this id may be one that came before.
bool HttpSequences::may_repeat(const Sequence& sequence, const std::string& id) {
  return (sequence.last && sequence.last->is_named(id)) ||
         (sequence.doubtful && sequence.doubtful->is_named(id)) ||
         std::any_of(sequence.line.begin(), sequence.line.end(),
                     [&](const SequencePlace* place) { return place->part_.is_named(id); });
}

tl::expected<HttpSequences::SequencePtr, HttpReply> HttpSequences::find(const SequenceRequest& request) {
  const std::string& id = request.sequence.id;
  const auto found = sequences_.find({request.model, id});
  if (found == sequences_.end()) return Refused(unknown(id));
  const Sequence& sequence = *found->second;
  if (sequence.ended() && !may_repeat(sequence, request.id)) return Refused(over(id));
  if (request.version != 0 && request.version != sequence.version) {
    const std::string began = " began with version " + std::to_string(sequence.version) +
                              " of the model; go on with the same, or with none";
    return refused(ErrorCode::kInvalidArgument, about({}, id, began.c_str()));
  }
  return found->second;
}

tl::expected<HttpSequences::SequencePtr, HttpReply> HttpSequences::begin(const SequenceRequest& request,
                                                                         TimePoint now) {
  const std::string& id = request.sequence.id;
  if (const auto found = sequences_.find({request.model, id}); found != sequences_.end()) {
    const SequencePtr sequence = found->second;
    if (may_repeat(*sequence, request.id) && !sequence->ended()) return sequence;
    // Nobody can go on with it any more.
    const bool useless = sequence->ended() || (sequence->doubtful && sequence->line.empty());
    if (!useless) return Refused(in_use(id));
    forget(*sequence);
  }
  if (auto bound = find_bound(request.client, now)) return Refused(std::move(*bound));
  const auto nonce = random_identity();
  if (!nonce) return Refused(http_error(nonce.error()));
  auto sequence = std::make_shared<Sequence>();
  sequence->key = {request.model, id};
  sequence->client = request.client;
  sequence->version = request.version;
  sequence->nonce = *nonce;
  auto& begun = begun_[sequence->client];
  sequences_[sequence->key] = sequence;
  ++begun;
  metrics_.set_sequences(sequences_.size());
  return sequence;
}

// What keeps a client from beginning another sequence.
std::optional<HttpReply> HttpSequences::find_bound(const std::string& client, TimePoint now) {
  if (limits_.max_sequences == 0)
    return http_error({ErrorCode::kInvalidArgument, "this server keeps no sequences (http.max_sequences)"});
  const auto full = [this] { return sequences_.size() >= limits_.max_sequences; };
  const auto has_too_many = [&] {
    const auto begun = begun_.find(client);
    return begun != begun_.end() && begun->second >= limits_.max_per_client;
  };
  if (full() || has_too_many()) forget_idle(now);
  if (full()) {
    return http_error({ErrorCode::kOverloaded,
                       "there are as many sequences as http.max_sequences allows; end some, or wait"});
  }
  if (!has_too_many()) return std::nullopt;
  return http_error(
      {ErrorCode::kOverloaded,
       "this client has begun as many sequences as http.max_sequences_per_client allows; end some, or "
       "wait"});
}

void HttpSequences::tidy(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (now - tidied_ < std::chrono::seconds(1)) return;
  tidied_ = now;
  forget_idle(now);
}

void HttpSequences::forget_idle(TimePoint now) {
  const bool full = sequences_.size() >= limits_.max_sequences;
  const auto has_all = [this](const Sequence& sequence) {
    return begun_.at(sequence.client) >= limits_.max_per_client;
  };
  std::erase_if(sequences_, [&](const auto& entry) {
    Sequence& sequence = *entry.second;
    const Duration patience =
        sequence.ended() ? (full || has_all(sequence) ? Duration::zero() : limits_.remember) : limits_.idle;
    sequence.gone = sequence.line.empty() && now - sequence.touched >= patience;
    if (sequence.gone) forget_client_of(sequence);
    return sequence.gone;
  });
  metrics_.set_sequences(sequences_.size());
}

void HttpSequences::forget(Sequence& sequence) {
  if (std::exchange(sequence.gone, true)) return;
  forget_client_of(sequence);
  sequences_.erase(sequences_.find(sequence.key));
  metrics_.set_sequences(sequences_.size());
}

void HttpSequences::forget_client_of(const Sequence& sequence) {
  const auto begun = begun_.find(sequence.client);
  if (--begun->second == 0) begun_.erase(begun);
}

// Gives the first in line its turn, or refuses it and goes on.
void HttpSequences::call_next(Sequence& sequence) {
  while (!sequence.line.empty()) {
    SequencePlace& place = *sequence.line.front();
    place.turn_ = next_token(sequence, place);
    place.called_.notify_all();
    if (*place.turn_) return;
    place.left_ = true;
    sequence.line.pop_front();
    if (!place.repeats_) refuse_behind(sequence, 0, place.part_.id);
  }
}

SequencePlace::Turn HttpSequences::next_token(Sequence& sequence, SequencePlace& place) {
  const std::string& id = sequence.key.second;
  const Part& part = place.part_;
  const bool begins = part.operation == SessionOperation::kBegin;
  if (comes_late(sequence, part.id)) {
    place.repeats_ = true;
    return Refused(late(id));
  }
  if (sequence.last && sequence.last->is_named(part.id) && *sequence.last != part)
    return Refused(another_content(id));
  place.repeats_ = sequence.last && sequence.last->is_named(part.id);
  if (!place.repeats_) {
    if (sequence.gone) return Refused(unknown(id));
    if (sequence.ended()) return Refused(over(id));
    if (sequence.doubtful && !sequence.doubtful->is_named(part.id)) {
      forget(sequence);
      return refused(ErrorCode::kSessionLost, about("the server lost the request of ", id,
                                                    " before this one; begin it anew with sequence_start"));
    }
    if (sequence.doubtful && *sequence.doubtful != part) return Refused(another_content(id));
    if (begins && sequence.next > 0) return Refused(in_use(id));
    if (!begins && sequence.next == 0) return Refused(unknown(id));
  }
  WireSessionToken token;
  if (begins) {
    token.nonce = sequence.nonce;
  } else {
    token = sequence.token;
    token.sequence = place.repeats_ ? sequence.next - 1 : sequence.next;
  }
  token.operation = part.operation;
  return token;
}

// Those from this place of the line on, up to the one that tries the same again.
void HttpSequences::refuse_behind(Sequence& sequence, std::size_t from, const std::string& but) {
  const HttpReply why =
      conflict(about("the request of ", sequence.key.second,
                     " before this one failed, or was given up; send both again, in order"));
  while (from < sequence.line.size()) {
    SequencePlace& place = *sequence.line[from];
    if (place.part_.is_named(but)) return;
    sequence.line.erase(sequence.line.begin() + static_cast<std::ptrdiff_t>(from));
    place.turn_ = Refused(why);
    place.left_ = true;
    place.called_.notify_all();
  }
}

void HttpSequences::commit(Sequence& sequence, const SequencePlace& place, const Outcome& outcome) {
  if (outcome.session) sequence.token = *outcome.session;
  if (place.repeats_) return;
  ++sequence.next;
  if (sequence.last && !sequence.last->id.empty()) sequence.earlier.push_back(std::move(sequence.last->id));
  if (sequence.earlier.size() > kEarlier) sequence.earlier.pop_front();
  sequence.last = place.part_;
  sequence.doubtful.reset();
}

// No outcome: it never ran.
void HttpSequences::leave(SequencePlace& place, const std::optional<Outcome>& outcome) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(place.left_, true)) return;
  Sequence& sequence = *place.sequence_;
  const auto at = std::find(sequence.line.begin(), sequence.line.end(), &place);
  const auto number = static_cast<std::size_t>(at - sequence.line.begin());
  sequence.line.erase(at);
  sequence.touched = steady_now();
  if (outcome && !outcome->error) {
    commit(sequence, place, *outcome);
  } else if (outcome && ends_session(*outcome)) {
    forget(sequence);
  } else if (!place.repeats_) {
    // Only the server itself says INTERNAL, and perhaps after the part was done.
    if (outcome && outcome->error->code == ErrorCode::kInternal) sequence.doubtful = place.part_;
    refuse_behind(sequence, number, place.part_.id);
  }
  if (number == 0) call_next(sequence);
  const bool never_began = sequence.next == 0 && !sequence.doubtful;
  const bool cannot_be_repeated = sequence.ended() && sequence.last->id.empty();
  if (sequence.line.empty() && (never_began || cannot_be_repeated)) forget(sequence);
}

SequencePlace::SequencePlace(HttpSequences& table, std::shared_ptr<HttpSequences::Sequence> sequence,
                             const SequenceRequest& request)
    : table_(table),
      sequence_(std::move(sequence)),
      part_{request.id, request.content, operation_of(request.sequence)} {}

SequencePlace::~SequencePlace() {
  table_.leave(*this, std::nullopt);
}

std::optional<SequencePlace::Turn> SequencePlace::wait_for(Duration at_most) {
  std::unique_lock lock(table_.mutex_);
  called_.wait_for(lock, at_most, [this] { return turn_.has_value(); });
  return turn_;
}

void SequencePlace::ended(const Outcome& outcome) {
  table_.leave(*this, outcome);
}

}  // namespace volvox
