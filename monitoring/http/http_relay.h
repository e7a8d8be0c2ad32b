#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/time.h"
#include "monitoring/http/descriptor.h"

namespace volvox {

// Bytes on their way from one socket to another, both of which never block. A bounded number lies here.
class OneWay {
 public:
  explicit OneWay(std::string first = {}) : bytes_(std::move(first)) {}

  bool wants_to_read() const { return !ended_ && bytes_.size() < kMost; }
  bool wants_to_write() const { return !bytes_.empty(); }
  // Everything that will come has been passed on, its end included.
  bool over() const { return told_; }
  // Nothing more is taken in, and nothing that lies here passed on.
  void give_up();
  // Nothing more comes.
  void end() { ended_ = true; }

  // As much as can be moved now. False: the socket is broken.
  bool read(int from);
  bool write(int to);
  // Bytes were passed on since this was asked last.
  bool moved() { return std::exchange(moved_, false); }

 private:
  static constexpr std::size_t kMost = 65'536;

  std::string bytes_;
  std::size_t written_ = 0;
  bool ended_ = false, told_ = false, moved_ = false;
};

// A connection of a client, and the one by which it is answered.
class HttpRelay {
 public:
  // To 127.0.0.1:port, with what was read of the client. Otherwise the errno that says why there is none.
  static tl::expected<HttpRelay, int> to(std::uint16_t port, std::string first, TimePoint now);

  int fd() const { return server_.get(); }
  std::uint16_t own_port() const { return own_port_; }  // as the server sees it

  short client_events() const;
  short server_events() const;
  // False: it is over, or broken.
  bool move(int client, short client_events, short server_events, TimePoint now);
  // Since when the client has taken nothing of what lies here for it; nothing while there is nothing.
  std::optional<TimePoint> blocked_since() const;

 private:
  HttpRelay(Descriptor server, std::uint16_t own_port, std::string first, TimePoint now)
      : server_(std::move(server)), own_port_(own_port), up_(std::move(first)), moved_(now) {}

  Descriptor server_;
  std::uint16_t own_port_ = 0;
  OneWay up_, down_;
  TimePoint moved_;
};

}  // namespace volvox
