#include "routing/sessions/session_directory.h"

#include "base/mixing.h"
#include "routing/sessions/session_errors.h"

namespace volvox {

SessionDirectory::SessionDirectory(const SessionLimits& limits)
    : limits_(limits), nonces_(0, NonceHash{limits.hash_seed}) {}

std::size_t SessionDirectory::NonceHash::operator()(const ScopedNonce& key) const {
  std::uint64_t h = seed;
  for (const std::uint64_t word : {std::uint64_t{key.scope}, key.nonce.lo, key.nonce.hi}) {
    h = scattered((h ^ word) + kScatterStep);
  }
  return h;
}

Result<std::uint32_t> SessionDirectory::locate(const SessionRequest& request) const {
  const auto found = find(request);
  if (!found || *found == kNoIndex) return found;
  const bool begins = request.verb == SessionVerb::kBegin;
  if ((begins ? request.served : request.model) != model(*found)) return tl::unexpected(other_model_error());
  if (!begins && request.epoch < limits_.epoch)
    return tl::unexpected(old_epoch_error(request.epoch, limits_.epoch));
  if (!begins && request.epoch > limits_.epoch)
    return tl::unexpected(new_epoch_error(request.epoch, limits_.epoch));
  return found;
}

Result<std::uint32_t> SessionDirectory::find(const SessionRequest& request) const {
  if (request.empty && request.verb != SessionVerb::kEnd) {
    return invalid("only the end of a session may come without a part to run; send inputs");
  }
  if (request.verb == SessionVerb::kBegin) {
    if (request.sequence != 0) return invalid("a session begins with part 0; send sequence 0");
    if (request.nonce == SessionNonce{}) return kNoIndex;
    const auto found = nonces_.find(scoped(request.client, request.nonce));
    return found == nonces_.end() ? kNoIndex : found->second;
  }
  if (request.id == SessionId{}) return tl::unexpected(no_session_error());
  const auto found = ids_.find(request.id);
  if (found == ids_.end()) return tl::unexpected(unknown_session_error());
  if (clients_[holder(found->second)].account != request.client.account)
    return tl::unexpected(other_client_error());
  return found->second;
}

// Nobody else's: he would be told another's session, and its first answer.
SessionDirectory::ScopedNonce SessionDirectory::scoped(const HolderName& client,
                                                       const SessionNonce& nonce) const {
  const bool secret = client.account.empty() && nonce.hi != 0;
  return {secret ? kAnybody : clients_.find(client), nonce};
}

std::uint32_t SessionDirectory::enter(const SessionRequest& request) {
  const std::uint32_t session = sessions_.take();
  Record& record = sessions_[session];
  record.id = request.id;
  record.nonce = request.nonce;
  record.holder = clients_.refer(request.client);
  record.model = request.served;
  ids_.emplace(request.id, session);
  if (request.nonce != SessionNonce{}) nonces_.emplace(scoped(request.client, request.nonce), session);
  held_.add(record.holder, 1);
  ++live_;
  ++begun_;
  return session;
}

void SessionDirectory::end(std::uint32_t session, SessionEnd reason) {
  sessions_[session].ended = reason;
  ++ends_[static_cast<std::size_t>(reason)];
  --live_;
}

void SessionDirectory::remember(std::uint32_t session, TimePoint now) {
  held_.remove(holder(session), 1);
  sessions_[session].since = now;
  remembered_.push_back(sessions_, session);
}

void SessionDirectory::forget(std::uint32_t session) {
  const Record& record = sessions_[session];
  remembered_.erase(sessions_, session);
  ids_.erase(record.id);
  if (record.nonce != SessionNonce{}) nonces_.erase(scoped(clients_[record.holder], record.nonce));
  clients_.release(record.holder);
  sessions_.give_back(session);
}

std::optional<std::uint32_t> SessionDirectory::one_too_many() const {
  if (remembered_.size() <= limits_.max_remembered) return std::nullopt;
  return remembered_.front();
}

std::optional<std::uint32_t> SessionDirectory::remembered_since(TimePoint since) const {
  if (remembered_.empty() || sessions_[remembered_.front()].since > since) return std::nullopt;
  return remembered_.front();
}

std::optional<TimePoint> SessionDirectory::oldest() const {
  return remembered_.empty() ? std::nullopt : std::optional(sessions_[remembered_.front()].since);
}

Status SessionDirectory::check_share(const HolderName& client) {
  const std::uint32_t share = limits_.share_of(client).sessions;
  if (held_.of(holder_of(client)) < share) return {};
  ++over_share_;
  return tl::unexpected(too_many_sessions_error(share));
}

std::optional<SessionRef> SessionDirectory::find_live(const SessionId& id) const {
  const auto found = ids_.find(id);
  if (found == ids_.end() || ended(found->second)) return std::nullopt;
  return ref(found->second);
}

std::vector<SessionRef> SessionDirectory::select(const std::function<bool(std::uint32_t)>& which) const {
  std::vector<SessionRef> chosen;
  for (std::uint32_t session = sessions_.used_from(0); session != kNoIndex;
       session = sessions_.used_from(session + 1)) {
    if (which(session)) chosen.push_back(ref(session));
  }
  return chosen;
}

void SessionDirectory::count(SessionStats& stats) const {
  stats.live = live_;
  stats.ending = held_.total() - live_;
  stats.remembered = remembered_.size();
  stats.clients = held_.count();
  stats.most_sessions = held_.most();
  stats.begun = begun_;
  stats.over_share = over_share_;
  stats.releases = ends_;
}

}  // namespace volvox
