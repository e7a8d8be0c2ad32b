#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "protocol/sockets/outgoing_reply.h"

namespace volvox {

// Replies take up memory from when they are made until the last byte has left for the client, wherever they
// lie: in a queue here, in ZeroMQ, in its encryption. This counts what each client holds of it, and says who
// has to go when it is too much: a client at its own bound, or, when all together hold too much, the one that
// holds most, not the next one that happens to be slow. Decides only; one thread at a time.
class ReplyShares {
 public:
  // Bytes that one client, and that all together, may hold besides the largest reply: that is let in however
  // large it is, and what is said meanwhile finds room beside it.
  ReplyShares(std::size_t of_one, std::size_t of_all) : of_one_(of_one), of_all_(of_all) {}

  // Lets a reply of so many bytes in, and gives its holder's number for give_back(). Nothing: the client
  // holds too much already. Throws std::bad_alloc, and has let nothing in.
  std::optional<std::uint64_t> hold(const ClientId& client, std::size_t bytes);

  // The reply has been sent, or thrown away.
  void give_back(std::uint64_t holder, std::size_t bytes);

  // The client to part with since all together hold too much; nothing: they do not.
  std::optional<ClientId> must_go() const;

  // What the client holds no longer counts, for its connection is being closed. Returns how many replies.
  std::size_t forget(const ClientId& client);

  std::size_t bytes() const { return bytes_; }
  std::size_t replies() const { return replies_; }
  std::size_t holders() const { return holders_.size(); }

 private:
  struct Holder {
    ClientId client;
    std::size_t bytes = 0, replies = 0;
    std::size_t largest = 0;  // of its replies since it last held none
  };

  const std::size_t of_one_, of_all_;
  std::uint64_t last_ = 0;
  std::unordered_map<ClientId, std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, Holder> holders_;
  std::size_t bytes_ = 0, replies_ = 0;
};

}  // namespace volvox
