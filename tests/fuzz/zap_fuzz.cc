// What ZeroMQ asks about a client (ZAP), frame by frame, with anything in the frames: each question has one
// answer of six frames, with the question's number, and only the right key of an encrypted connection is let
// in.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <zmq.h>

#include "protocol/curve/curve_clients.h"
#include "protocol/curve/curve_guard.h"
#include "protocol/curve/curve_keys.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kPatienceMs = 2000;
constexpr std::size_t kMostFrames = 16, kId = 1, kMechanism = 5, kCredentials = 6;

class Guarded {
 public:
  Guarded() : door_(context_, ZMQ_ROUTER), asker_(context_, ZMQ_DEALER) {
    const auto server = new_curve_keys(), client = new_curve_keys();
    require(server && client, "keys can be made");
    std::string folder = (fs::temp_directory_path() / "volvox-zap-XXXXXX").string();
    require(::mkdtemp(folder.data()) != nullptr, "a folder can be made");
    require(write_public_key(fs::path(folder) / "alice.key", *client).has_value(), "a key can be written");
    auto clients = CurveClients::in_folder(folder);
    require(clients.has_value(), "the folder can be read");
    static const fs::path used = folder;  // the guard looks at it now and then
    std::atexit([] { fs::remove_all(used); });
    key_.resize(32);
    require(::zmq_z85_decode(key_.data(), client->public_key.c_str()) != nullptr, "a key can be read");
    auto guard = CurveGuard::protect(context_, door_, *server, std::move(*clients));
    require(guard.has_value(), "a socket can be guarded");
    guard_ = std::move(*guard);
    require(asker_.connect("inproc://zeromq.zap.01").has_value(), "the guard can be asked");
    require(asker_.set(ZMQ_RCVTIMEO, kPatienceMs).has_value(), "the guard is waited for");
  }

  // In the frames, so that mutations find the key.
  const std::vector<std::uint8_t>& key() const { return key_; }

  std::vector<std::string> ask(const std::vector<std::string>& frames) {
    require(::zmq_send(asker_.handle(), "", 0, ZMQ_SNDMORE) == 0, "a question can be sent");
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const int more = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
      require(::zmq_send(asker_.handle(), frames[i].data(), frames[i].size(), more) >= 0,
              "a question can be sent");
    }
    std::vector<std::string> answer;
    for (int more = 1; more != 0;) {
      char content[1024];
      int size = -1;
      do size = ::zmq_recv(asker_.handle(), content, sizeof content, 0);
      while (size < 0 && errno == EINTR);  // libFuzzer's timer
      require(size >= 0 && size <= static_cast<int>(sizeof content), "every question is answered");
      answer.emplace_back(content, static_cast<std::size_t>(size));
      std::size_t length = sizeof more;
      ::zmq_getsockopt(asker_.handle(), ZMQ_RCVMORE, &more, &length);
    }
    static_cast<void>(guard_->take_refused());
    return answer;
  }

 private:
  ZmqContext context_;
  ZmqSocket door_, asker_;
  std::vector<std::uint8_t> key_;
  std::unique_ptr<CurveGuard> guard_;
};

// Each frame behind a byte with its length; a length of 255 stands for the key that is let in.
std::vector<std::string> frames_of(const std::uint8_t* data, std::size_t size,
                                   const std::vector<std::uint8_t>& key) {
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < size && frames.size() < kMostFrames;) {
    const std::size_t wanted = data[at++];
    if (wanted == 255) {
      frames.emplace_back(key.begin(), key.end());
      continue;
    }
    const std::size_t length = std::min(wanted, size - at);
    frames.emplace_back(reinterpret_cast<const char*>(data + at), length);
    at += length;
  }
  if (frames.empty()) frames.emplace_back();
  return frames;
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox::fuzz;
  static Guarded& guarded = *new Guarded;  // its thread lives as long as the process
  const auto& key = guarded.key();
  const auto frames = frames_of(data, size, key);
  const auto answer = guarded.ask(frames);
  require(answer.size() == 7 && answer[0].empty() && answer[1] == "1.0", "an answer has six frames");
  require(answer[2] == (frames.size() > kId ? frames[kId] : ""), "an answer has its question's number");
  const bool known = frames.size() > kCredentials && frames[kMechanism] == "CURVE" &&
                     frames[kCredentials] == std::string(key.begin(), key.end());
  require(answer[3] == (known ? "200" : "400"), "only the right key is let in");
  require(answer[5] == (known ? "alice" : ""), "who is let in has a name");
  return 0;
}
