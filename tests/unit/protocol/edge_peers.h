#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/codec/codec.h"
#include "protocol/sockets/edge_socket.h"
#include "tests/unit/protocol/patience.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {

using namespace std::chrono_literals;

inline std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline WireBuffer buffer(const std::string& text) {
  return WireBuffer::copy_of(std::as_bytes(std::span(text)));
}

// Keeps what the edge said; used by the one thread that runs the edge.
struct Recorder : EdgeHandler {
  struct Seen {
    ClientId client;
    std::string header, body;
  };
  std::vector<Seen> requests;
  std::vector<std::pair<ClientId, ClientGone>> gone;
  // With an edge: bodies as it keeps them, and where they lay when they came.
  EdgeSocket* keeps = nullptr;
  std::vector<std::pair<std::shared_ptr<const WireBuffer>, const std::byte*>> kept;

  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override {
    requests.push_back({client, text(header), text(body)});
    if (keeps != nullptr) kept.emplace_back(keeps->keep_body(), body.data());
  }
  void on_client_gone(const ClientId& client, ClientGone why) override { gone.emplace_back(client, why); }
};

// A client of bare frames.
class RawClient {
 public:
  explicit RawClient(const std::string& endpoint, int receive_queue = 1000) {
    EXPECT_TRUE(socket_.set(ZMQ_LINGER, 0));
    EXPECT_TRUE(socket_.set(ZMQ_RCVHWM, receive_queue));
    EXPECT_TRUE(socket_.set(ZMQ_RCVTIMEO, 20000));
    EXPECT_TRUE(socket_.connect(endpoint));
  }

  void send(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ASSERT_GE(zmq_send(socket_.handle(), frames[i].data(), frames[i].size(),
                         i + 1 < frames.size() ? ZMQ_SNDMORE : 0),
                0);
    }
  }

  // One message, waiting for it if need be.
  std::vector<std::string> receive() {
    std::vector<std::string> frames;
    zmq_msg_t message;
    zmq_msg_init(&message);
    do {
      if (zmq_msg_recv(&message, socket_.handle(), 0) < 0) break;
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    } while (zmq_msg_more(&message) != 0);
    zmq_msg_close(&message);
    return frames;
  }

 private:
  ZmqContext context_;
  ZmqSocket socket_{context_, ZMQ_DEALER};
};

// A peer that speaks ZeroMQ's protocol (ZMTP 3.1) byte by byte.
class BarePeer {
 public:
  explicit BarePeer(const std::string& endpoint, const char* from = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{AF_INET, 0, {}, {}};
    EXPECT_EQ(::inet_pton(AF_INET, from, &own.sin_addr), 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
    const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    const sockaddr_in address{AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {}};
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~BarePeer() { ::close(socket_); }
  BarePeer(const BarePeer&) = delete;
  BarePeer& operator=(const BarePeer&) = delete;

  void send(const std::string& bytes) {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  void hear(std::size_t bytes) {
    std::string heard(bytes, 0);
    ASSERT_EQ(::recv(socket_, heard.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

  // Greeting, then READY as a DEALER; the other side's greeting and the first byte of its READY.
  void shake_hands() {
    const std::string zeros(31, 0);
    send(std::string("\xff") + zeros.substr(0, 8) + "\x7f\x03\x01NULL" + zeros.substr(0, 17) + zeros);
    hear(64);
    send(std::string("\x04\x1c\5READY\x0bSocket-Type\0\0\0\6DEALER", 30));
    hear(1);
  }

  void request(const std::string& header, const std::string& body) {
    send(std::string("\x01") + static_cast<char>(header.size()) + header);
    send(std::string("\0", 1) + static_cast<char>(body.size()) + body);
  }

  // Names itself, and waits until the edge has taken note of it.
  void shake_hands_as(const std::string& id) {
    const std::string zeros(31, 0);
    send(std::string("\xff") + zeros.substr(0, 8) + "\x7f\x03\x01NULL" + zeros.substr(0, 17) + zeros);
    std::string ready = std::string("\5READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0", 40);
    ready += static_cast<char>(id.size()) + id;
    send(std::string("\x04") + static_cast<char>(ready.size()) + ready);
    hear(64);
    std::string head(2, 0);
    ASSERT_EQ(::recv(socket_, head.data(), 2, MSG_WAITALL), 2);
    hear(static_cast<unsigned char>(head[1]));
  }

  // Whether the other side has closed the connection, without waiting for it.
  bool closed() {
    char byte = 0;
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

  // What the connection takes of these bytes without waiting; -1 once it is closed.
  ssize_t push(std::span<const char> bytes) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 && errno == EAGAIN ? 0 : sent;
  }

  // Closes without a farewell.
  void reset() {
    const linger at_once{1, 0};
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_;
};

class EdgeSocketTest : public testing::Test {
 protected:
  void open(EdgeOptions options = {}, const std::string& endpoint = "tcp://127.0.0.1:*") {
    auto opened = EdgeSocket::open(options, recorder_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    edge_ = std::move(*opened);
    const auto bound = edge_->bind(endpoint);
    ASSERT_TRUE(bound) << to_string(bound.error());
  }

  // Lets ZeroMQ's own thread work, and the edge not, until something holds.
  void wait_until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(1ms);
    }
  }

  // Runs the edge until something holds; fails the test if it never does.
  void run_until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      edge_->run_once(10ms);
    }
  }

  Recorder recorder_;
  std::unique_ptr<EdgeSocket> edge_;
};

}  // namespace volvox
