#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/index_pool.h"
#include "base/time.h"
#include "routing/sessions/holders.h"
#include "routing/sessions/session.h"

namespace volvox {

// Every session that SessionTable knows, whose it is, and which one a request means. A session lives until
// it ends; then the device may have to let go of it; then it is remembered, so that a late request is told
// why, until it is forgotten. O(1), but for what says O(all). Pure; one thread at a time.
class SessionDirectory {
 public:
  explicit SessionDirectory(const SessionLimits& limits);

  // The session that a request means, by its id or by the nonce that began it; kNoIndex: a begin without one.
  // Refuses what names no session, another client's, or one of another model or epoch.
  Result<std::uint32_t> locate(const SessionRequest& request) const;
  // A new one, of the request's client. Nobody has its id.
  std::uint32_t enter(const SessionRequest& request);
  bool knows(const SessionId& id) const { return ids_.contains(id); }

  void end(std::uint32_t session, SessionEnd reason);  // of one that lives
  // The device has let go of one that has ended. From then on it does not count among its holder's.
  void remember(std::uint32_t session, TimePoint now);
  void forget(std::uint32_t session);  // one that is remembered

  // The one that is remembered for longest: if there are too many; if it is since then or longer; since when.
  std::optional<std::uint32_t> one_too_many() const;
  std::optional<std::uint32_t> remembered_since(TimePoint since) const;
  std::optional<TimePoint> oldest() const;

  bool valid(SessionRef session) const { return sessions_.valid(session.index, session.generation); }
  SessionRef ref(std::uint32_t session) const { return {session, sessions_.generation(session)}; }
  SessionName name(std::uint32_t session) const {
    return {ref(session), sessions_[session].id, limits_.epoch};
  }
  const ModelIdentity& model(std::uint32_t session) const { return sessions_[session].model; }
  // Why it has ended, if it has.
  const std::optional<SessionEnd>& ended(std::uint32_t session) const { return sessions_[session].ended; }
  std::uint32_t holder(std::uint32_t session) const { return sessions_[session].holder; }
  std::uint32_t holder_of(const HolderName& client) const { return clients_.find(client); }

  // How many sessions each holder has: live ones, and those that the device has yet to let go of.
  const Holdings& held() const { return held_; }
  Status check_share(const HolderName& client);  // whether he may have one more
  std::optional<SessionRef> find_live(const SessionId& id) const;
  // Those for which it is true; they may have ended. O(all).
  std::vector<SessionRef> select(const std::function<bool(std::uint32_t)>& which) const;

  void count(SessionStats& stats) const;

 private:
  struct Record {
    SessionId id;
    SessionNonce nonce;
    std::uint32_t holder = 0;  // who began it
    ModelIdentity model;
    std::optional<SessionEnd> ended;
    TimePoint since{};  // when it began to be remembered
    ListLinks by_age;
  };
  static constexpr std::uint32_t kAnybody = kNoIndex - 1;  // who knows the nonce
  struct ScopedNonce {
    std::uint32_t scope = 0;  // a holder, or kAnybody
    SessionNonce nonce;
    bool operator==(const ScopedNonce&) const = default;
  };
  struct IdHash {
    std::size_t operator()(const SessionId& id) const { return id.lo ^ (id.hi * 0x9e3779b97f4a7c15ULL); }
  };
  struct NonceHash {
    std::uint64_t seed;
    std::size_t operator()(const ScopedNonce& key) const;
  };

  Result<std::uint32_t> find(const SessionRequest& request) const;
  ScopedNonce scoped(const HolderName& client, const SessionNonce& nonce) const;

  const SessionLimits limits_;
  IndexPool<Record> sessions_;
  std::unordered_map<SessionId, std::uint32_t, IdHash> ids_;
  std::unordered_map<ScopedNonce, std::uint32_t, NonceHash> nonces_;
  Holders clients_;
  Holdings held_;
  IndexList<Record, &Record::by_age> remembered_;  // first ended first
  std::size_t live_ = 0;
  std::uint64_t begun_ = 0, over_share_ = 0;
  std::array<std::uint64_t, kSessionEnds> ends_{};
};

}  // namespace volvox
