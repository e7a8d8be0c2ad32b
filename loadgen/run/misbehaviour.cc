#include "loadgen/run/misbehaviour.h"

#include <chrono>
#include <thread>
#include <utility>

#include "protocol/codec/codec.h"
#include "protocol/request.h"

namespace volvox {
namespace {

constexpr int kRequestsARound = 2;  // of each connection

}  // namespace

Result<Misbehaviour> Misbehaviour::start(const MisbehaviourPlan& plan, const RequestSource& source) {
  Misbehaviour made(plan, source);
  for (std::uint32_t i = 0; i < plan.never_read; ++i) {
    auto peer = RawPeer::connect(plan.endpoint);
    if (!peer) return tl::unexpected(peer.error());
    made.deaf_.push_back(std::move(*peer));
  }
  return made;
}

void Misbehaviour::run(const std::stop_token& stop) {
  constexpr auto kLook = std::chrono::milliseconds(10);
  while (!stop.stop_requested()) {
    round();
    const auto next = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < next)
      std::this_thread::sleep_for(kLook);
  }
}

void Misbehaviour::round() {
  for (RawPeer& peer : deaf_) {
    for (int i = 0; i < kRequestsARound; ++i) send_one(peer);
  }
  for (std::uint32_t i = 0; i < plan_.vanish; ++i) {
    auto peer = RawPeer::connect(plan_.endpoint);
    if (!peer) continue;  // a server that lets nobody in has this behind it
    for (int k = 0; k < kRequestsARound; ++k) send_one(*peer);
    peer->vanish();
    ++counts_.vanished;
  }
}

void Misbehaviour::send_one(RawPeer& peer) {
  RequestContent content;
  source_.make(next_id_, content);
  ClientRequest request = request_with_inputs(plan_.model, plan_.input);
  fill_request(request, content);
  request.header.request_id = next_id_++;
  request.header.deadline_us = static_cast<std::uint64_t>(plan_.deadline.count() / 1000);
  const auto header = encode_request_header(request.header, {});
  const auto body = encode_request_body(request.body, {});
  if (header && body && peer.send(header->bytes(), body->bytes())) ++counts_.sent;
}

}  // namespace volvox
