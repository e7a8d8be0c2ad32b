#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

std::string slot_text(StateSlot slot) {
  return slot == kInitialState ? "-" : std::to_string(slot);
}

std::string text_of(const SessionAction& action) {
  using Kind = SessionAction::Kind;
  const std::string session = std::to_string(action.id.lo);
  const std::string part = std::to_string(action.request) + ":" + std::to_string(action.sequence);
  switch (action.kind) {
    case Kind::kRun:
      return "run " + part + " " + slot_text(action.read) + ">" + slot_text(action.write);
    case Kind::kStop:
      return "stop " + session;
    case Kind::kAnswer:
      return "answer " + part + (action.repeated ? "*" : "") + (action.last ? "!" : "");
    case Kind::kRefuse:
      return "refuse " + std::to_string(action.request) + " " + std::string(to_string(action.error.code));
    case Kind::kSpill:
      return "spill " + session + " " + slot_text(action.read);
    case Kind::kRestore:
      return "restore " + session + " " + slot_text(action.write);
    case Kind::kFree:
      return "free " + session;
    case Kind::kForget:
      return "forget " + session;
  }
  return "?";
}

}  // namespace

SessionLimits small_limits() {
  SessionLimits limits;
  limits.max_sessions = 4;
  limits.max_resident = 2;
  limits.max_waiting = 2;
  limits.max_kept_outputs = 2;
  limits.max_kept_bytes = 100;
  limits.max_kept_bytes_total = 150;
  limits.max_remembered = 3;
  limits.remember = 5 * kSecond;
  limits.idle_expiry = 10 * kSecond;
  limits.park = 60 * kSecond;
  limits.epoch = 7;
  limits.hash_seed = 99;
  return limits;
}

std::string text(const SessionActions& actions) {
  std::string all;
  for (const SessionAction& action : actions) all += (all.empty() ? "" : "; ") + text_of(action);
  return all;
}

SessionRequest Desk::request(std::uint64_t id, std::uint64_t sequence, std::uint64_t key) {
  SessionRequest request;
  request.request = key;
  request.id = {0, id};
  request.sequence = sequence;
  request.epoch = 7;
  request.model = request.served = kModel;
  return request;
}

std::string Desk::begin(std::uint64_t id, std::uint64_t key, std::uint64_t nonce) {
  SessionRequest begin = request(id, 0, key);
  begin.verb = SessionVerb::kBegin;
  begin.nonce = {nonce, 0};
  return submit(begin);
}

std::string Desk::send(std::uint64_t id, std::uint64_t sequence, std::uint64_t key, std::uint64_t content) {
  SessionRequest send = request(id, sequence, key);
  send.content = {content, 0};
  return submit(send);
}

std::string Desk::end(std::uint64_t id, std::uint64_t sequence, std::uint64_t key, bool empty) {
  SessionRequest end = request(id, sequence, key);
  end.verb = SessionVerb::kEnd;
  end.empty = empty;
  return submit(end);
}

std::string Desk::submit(const SessionRequest& request) {
  out_.clear();
  tickets_[request.request] = table.submit(request, now, out_);
  if (const auto ref = table.find(request.id)) refs_[request.id.lo] = *ref;
  return told();
}

std::string Desk::done(std::uint64_t id, std::uint64_t bytes) {
  out_.clear();
  table.finished(ref(id), {{}, std::make_shared<std::uint64_t>(id), bytes}, now, out_);
  return told();
}

std::string Desk::failed(std::uint64_t id) {
  out_.clear();
  table.finished(ref(id), {fail(ErrorCode::kInternal, "the device failed"), nullptr, 0}, now, out_);
  return told();
}

std::string Desk::spilled(std::uint64_t id, bool ok) {
  out_.clear();
  table.spilled(ref(id), ok, now, out_);
  return told();
}

std::string Desk::restored(std::uint64_t id, bool ok) {
  out_.clear();
  table.restored(ref(id), ok, now, out_);
  return told();
}

std::string Desk::not_restored(std::uint64_t id) {
  out_.clear();
  table.not_restored(ref(id), now, out_);
  return told();
}

std::string Desk::cancel(std::uint64_t key) {
  out_.clear();
  table.cancel(tickets_[key], {ErrorCode::kCancelled, "the client asked for it"}, now, out_);
  return told();
}

std::string Desk::refuse_all(std::uint64_t id) {
  out_.clear();
  table.refuse_all(refs_.at(id), {ErrorCode::kUnavailable, "its device hangs"}, now, out_);
  return told();
}

std::string Desk::release(std::uint64_t id, SessionEnd reason) {
  out_.clear();
  table.release(ref(id), reason, now, out_);
  return told();
}

std::string Desk::drain() {
  out_.clear();
  table.drain(now, out_);
  return told();
}

std::string Desk::wait(Duration how_long) {
  out_.clear();
  now += how_long;
  table.tick(now, out_);
  return told();
}

void Desk::make(std::uint64_t id, std::uint64_t parts) {
  begin(id, 900);
  done(id);
  for (std::uint64_t sequence = 1; sequence < parts; ++sequence) {
    send(id, sequence, 900);
    done(id);
  }
}

void Desk::bring_back() {
  make(1);
  make(2);
  begin(3, 30);
  spilled(1);
  done(3);
  send(1, 1, 11);
  spilled(2);
}

std::string Desk::told() {
  for (const SessionAction& action : out_) {
    if (action.kind == SessionAction::Kind::kRefuse) last_error_ = action.error;
  }
  return text(out_);
}

}  // namespace volvox::desk
