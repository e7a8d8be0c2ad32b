// Bytes as a history of sessions: requests that begin, go on, repeat, end, jump ahead and are cancelled, and
// what the device says of its work. Whatever comes in whatever order, SessionTable keeps its contract: every
// request has one answer, which is that of its content, no slot has two owners, what a part starts from is
// what the parts before it left, bounds hold, and in the end nothing is left.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "routing/sessions/session_table.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

class Bytestream {
 public:
  explicit Bytestream(Bytes bytes) : bytes_(bytes) {}
  bool empty() const { return next_ >= bytes_.size(); }
  std::uint32_t below(std::uint32_t n) {
    return empty() ? 0 : std::to_integer<std::uint32_t>(bytes_[next_++]) % n;
  }

 private:
  Bytes bytes_;
  std::size_t next_ = 0;
};

using Ref = std::pair<std::uint32_t, std::uint32_t>;  // index, generation

SessionLimits limits_from(Bytestream& bytes) {
  SessionLimits limits;
  limits.max_sessions = 1 + bytes.below(6);
  limits.max_resident = 1 + bytes.below(4);
  limits.max_waiting = bytes.below(5);
  limits.max_kept_outputs = bytes.below(4);
  limits.max_kept_bytes = bytes.below(4);
  limits.max_kept_bytes_total = bytes.below(8);
  limits.max_remembered = bytes.below(4);
  limits.evict_idle = std::chrono::milliseconds(bytes.below(3));
  limits.max_spilled_bytes = bytes.below(4);
  limits.share = {1 + bytes.below(6), bytes.below(6), bytes.below(4)};
  limits.idle_expiry = std::chrono::milliseconds(1 + bytes.below(200));
  return limits;
}

// The state of a session after a part: different for every session and part.
std::uint64_t state_after(Ref session, std::uint64_t sequence) {
  return (std::uint64_t{session.first} << 40) ^ (std::uint64_t{session.second} << 20) ^ (sequence + 1);
}

class World {
 public:
  explicit World(Bytestream bytes) : bytes_(bytes), limits_(limits_from(bytes_)), table_(limits_) {}

  void run() {
    for (int steps = 0; steps < 4096 && !bytes_.empty(); ++steps) step();
    act([this](SessionActions& out) { table_.drain(now_, out); });
    for (int rounds = 0; rounds < 100'000 && report_something(true); ++rounds) {
    }
    act([this](SessionActions& out) { table_.release_all(SessionEnd::kDraining, now_, out); });
    while (report_something(true)) {
    }
    require(open_.empty(), "every request is answered");
    const SessionStats stats = table_.stats();
    require(stats.live == 0 && stats.ending == 0 && stats.running == 0 && stats.resident == 0,
            "nothing is left");
    require(owners_.empty(), "every slot is given back");
  }

 private:
  struct Run {
    StateSlot write;
    std::uint64_t sequence, content;
  };
  struct Known {  // what its client knows of a session
    SessionId id;
    std::uint64_t epoch, next;
  };

  void step() {
    switch (bytes_.below(16)) {
      case 0:
      case 1:
      case 2:
        return begin();
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
        return go_on();
      case 8:
        return cancel();
      case 9:
        return wait();
      case 10:
        return release();
      case 11:
        return act([this](SessionActions& out) {
          table_.allow_resident(1 + bytes_.below(limits_.max_resident), now_, out);
        });
      default:
        report_something(bytes_.below(4) != 0);
    }
  }

  template <class Call>
  void act(Call call) {
    SessionActions out;
    call(out);
    for (const SessionAction& action : out) apply(action);
    check_bounds();
  }

  void begin() {
    SessionRequest request;
    request.verb = SessionVerb::kBegin;
    request.id = {0, ++ids_};
    request.nonce = {bytes_.below(6), bytes_.below(2)};
    request.state_bytes = bytes_.below(3);
    submit(request);
  }

  void go_on() {
    if (known_.empty()) return;
    const Known& session = known_[bytes_.below(static_cast<std::uint32_t>(known_.size()))];
    SessionRequest request;
    request.id = session.id;
    request.epoch = session.epoch + (bytes_.below(16) == 0 ? 1 : 0);
    const std::uint32_t what = bytes_.below(16);
    request.sequence = session.next + (what < 4 ? what : 0) - (what == 5 ? 1 : 0);
    request.verb = what == 6 ? SessionVerb::kEnd : SessionVerb::kContinue;
    request.empty = what == 6 && bytes_.below(2) == 0;
    submit(request);
  }

  void submit(SessionRequest request) {
    request.request = ++requests_;
    constexpr HolderName kNames[] = {{"alice"}, {"bob"}, {"", 7}, {}};
    request.client = kNames[bytes_.below(16) == 0 ? 1 + bytes_.below(3) : 0];
    if (!request.empty) request.content = {bytes_.below(8) == 0 ? 2U : 1U, 0};
    contents_[request.request] = request.content.lo;
    request.memory = {1, bytes_.below(3), 2};
    request.model = request.served = {1, 1, 1, 1};
    if (bytes_.below(32) == 0) request.loaded = false;
    open_.insert(request.request);
    SessionTicket ticket;
    act([&](SessionActions& out) { ticket = table_.submit(request, now_, out); });
    if (open_.contains(request.request)) tickets_.push_back(ticket);
  }

  void cancel() {
    if (tickets_.empty()) return;
    const std::size_t which = bytes_.below(static_cast<std::uint32_t>(tickets_.size()));
    const Error why{ErrorCode::kCancelled, "its client asked"};
    act([&](SessionActions& out) { table_.cancel(tickets_[which], why, now_, out); });
  }

  void wait() {
    now_ += std::chrono::milliseconds(bytes_.below(64));
    act([this](SessionActions& out) { table_.tick(now_, out); });
  }

  void release() {
    const auto reason = static_cast<SessionEnd>(bytes_.below(kSessionEnds));
    if (seen_.empty()) return;
    const auto which = bytes_.below(static_cast<std::uint32_t>(std::min<std::size_t>(seen_.size(), 255)));
    const auto [index, generation] = *std::next(seen_.begin(), which);  // it may have ended long ago
    act([&, index = index, generation = generation](SessionActions& out) {
      table_.release({index, generation}, reason, now_, out);
    });
  }

  // The device is done with the first thing that it has to do; false when there is none.
  bool report_something(bool ok) {
    if (!runs_.empty()) return report_run(ok), true;
    if (!spills_.empty()) return report_spill(ok), true;
    if (restores_.empty()) return false;
    const auto [ref, write] = *restores_.begin();
    restores_.erase(restores_.begin());
    if (!ok && bytes_.below(2) == 1) {
      act([&, ref = ref](SessionActions& out) { table_.not_restored({ref.first, ref.second}, now_, out); });
      return true;
    }
    if (ok) slots_[write] = host_[ref];
    act([&, ref = ref](SessionActions& out) { table_.restored({ref.first, ref.second}, ok, now_, out); });
    return true;
  }

  void report_run(bool ok) {
    const auto [ref, run] = *runs_.begin();
    runs_.erase(runs_.begin());
    PartResult result;
    if (ok) {
      slots_[run.write] = state_after(ref, run.sequence);
      done_[{ref, run.sequence}] = run.content;
      result.output = std::make_shared<const std::uint64_t>(slots_[run.write]);
      result.bytes = 1;
    } else {
      result.status = fail(ErrorCode::kInternal, "the device failed");
    }
    act([&, ref = ref](SessionActions& out) { table_.finished({ref.first, ref.second}, result, now_, out); });
  }

  void report_spill(bool ok) {
    const auto [ref, read] = *spills_.begin();
    spills_.erase(spills_.begin());
    if (ok) host_[ref] = slots_[read];
    act([&, ref = ref](SessionActions& out) { table_.spilled({ref.first, ref.second}, ok, now_, out); });
  }

  void apply(const SessionAction& action) {
    const Ref ref{action.session.index, action.session.generation};
    switch (action.kind) {
      case SessionAction::Kind::kRun:
        return start(ref, action);
      case SessionAction::Kind::kStop:
        return require(runs_.contains(ref), "what is stopped runs");
      case SessionAction::Kind::kAnswer:
        return answer(ref, action);
      case SessionAction::Kind::kRefuse:
        require(open_.erase(action.request) == 1, "a request is answered once");
        return require(!action.error.message.empty(), "a refusal says why");
      case SessionAction::Kind::kSpill:
        own(ref, action.read);
        return require(spills_.emplace(ref, action.read).second, "one spill at a time");
      case SessionAction::Kind::kRestore:
        own(ref, action.write);
        require(host_.contains(ref), "what is restored was spilled");
        return require(restores_.emplace(ref, action.write).second, "one restore at a time");
      case SessionAction::Kind::kFree:
        disown(ref, action.read);
        return disown(ref, action.write);
      case SessionAction::Kind::kForget:
        host_.erase(ref);
    }
  }

  void start(Ref ref, const SessionAction& action) {
    own(ref, action.write);
    require(action.read != action.write, "a part does not write what it reads");
    seen_.insert(ref);
    if (action.read == kInitialState) {
      require(action.sequence == 0 || !committed_.contains(ref), "a session begins once");
    } else {
      own(ref, action.read);
      require(slots_[action.read] == committed_[ref], "a part starts from what the last one left");
    }
    require(runs_.emplace(ref, Run{action.write, action.sequence, contents_[action.request]}).second,
            "one part at a time");
  }

  void answer(Ref ref, const SessionAction& action) {
    require(open_.erase(action.request) == 1, "a request is answered once");
    const auto* output = static_cast<const std::uint64_t*>(action.output.get());
    if (output == nullptr) return;  // an end without a part
    require(*output == state_after(ref, action.sequence), "an answer is its own part's");
    require(done_[{ref, action.sequence}] == contents_[action.request], "an answer is that of its content");
    if (!action.repeated) committed_[ref] = *output;
    if (!action.last) know(action);
  }

  void know(const SessionAction& action) {
    for (Known& known : known_) {
      if (known.id == action.id) {
        known = {action.id, action.epoch, std::max(known.next, action.sequence + 1)};
        return;
      }
    }
    if (known_.size() == 16) known_.erase(known_.begin());
    known_.push_back({action.id, action.epoch, action.sequence + 1});
  }

  void own(Ref ref, StateSlot slot) {
    require(slot < 2 * limits_.max_resident, "there is such a slot");
    const auto [owner, fresh] = owners_.emplace(slot / 2, ref);
    require(owner->second == ref, "a place has one owner");
  }

  void disown(Ref ref, StateSlot slot) {
    if (slot == kInitialState) return;
    const auto owner = owners_.find(slot / 2);
    require(owner == owners_.end() || owner->second == ref, "only its owner gives a place back");
    if (owner != owners_.end()) owners_.erase(owner);
  }

  void check_bounds() {
    const SessionStats stats = table_.stats();
    require(stats.live + stats.ending <= limits_.max_sessions, "max_sessions holds");
    require(stats.resident <= limits_.max_resident, "max_resident holds");
    require(stats.remembered <= limits_.max_remembered, "max_remembered holds");
    require(stats.kept_bytes <= limits_.max_kept_bytes_total, "max_kept_bytes_total holds");
    require(stats.spilled_bytes <= limits_.max_spilled_bytes, "max_spilled_bytes holds");
    require(stats.waiting <= std::uint64_t{limits_.max_sessions} * (limits_.max_waiting + 2),
            "max_waiting holds");
  }

  Bytestream bytes_;
  SessionLimits limits_;
  SessionTable table_;
  TimePoint now_{};
  std::uint64_t requests_ = 0, ids_ = 0;
  std::set<std::uint64_t> open_;
  std::map<std::uint64_t, std::uint64_t> contents_;              // by request
  std::map<std::pair<Ref, std::uint64_t>, std::uint64_t> done_;  // contents that ran last, by part
  std::set<Ref> seen_;
  std::vector<SessionTicket> tickets_;
  std::vector<Known> known_;
  std::map<Ref, Run> runs_;
  std::map<Ref, StateSlot> spills_, restores_;
  std::map<Ref, std::uint64_t> host_, committed_;
  std::map<StateSlot, std::uint64_t> slots_;
  std::map<std::uint32_t, Ref> owners_;  // by place
};

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  volvox::fuzz::World(volvox::fuzz::Bytestream(std::as_bytes(std::span(data, size)))).run();
  return 0;
}
