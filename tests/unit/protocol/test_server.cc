#include "tests/unit/protocol/test_server.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "protocol/codec/bundle_codec.h"

namespace volvox::test {
namespace {

constexpr const char* kUnavailableLater = "unavailable later";

}  // namespace

TestServer::TestServer(const std::string& endpoint, EdgeOptions options) : limits_(options.limits) {
  auto edge = EdgeSocket::open(options, *this);
  if (!edge) throw std::runtime_error(to_string(edge.error()));
  edge_ = std::move(*edge);
  if (auto ok = edge_->bind(endpoint); !ok) throw std::runtime_error(to_string(ok.error()));
  thread_ = std::thread([this] { run(); });
}

TestServer::~TestServer() {
  stop_ = true;
  resume();
  edge_->wake();
  thread_.join();
}

void TestServer::run() {
  while (!stop_) {
    edge_->run_once(Duration::max());
    Pace asked = Pace::kToStand;
    if (!pace_.compare_exchange_strong(asked, Pace::kStanding)) continue;
    pace_.notify_all();
    pace_.wait(Pace::kStanding);
  }
}

void TestServer::pause() {
  pace_ = Pace::kToStand;
  edge_->wake();
  pace_.wait(Pace::kToStand);
}

void TestServer::resume() {
  pace_ = Pace::kGoing;
  pace_.notify_all();
}

void TestServer::release() {
  const std::lock_guard lock(mutex_);
  for (const Held& held : std::exchange(held_, {})) {
    if (held.header.model == kUnavailableLater) {
      send(held.client, error_reply(held.header.request_id, {ErrorCode::kUnavailable, "not here"}), {});
    } else {
      echo(held.client, held.header, held.body);
    }
  }
}

std::size_t TestServer::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

std::multiset<std::uint64_t> TestServer::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

std::vector<RequestHeader> TestServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void TestServer::on_request(const ClientId& client, std::span<const std::byte> header,
                            std::span<const std::byte> body) {
  std::uint64_t id = 0;
  const auto decoded = decode_request_header(header, limits_, &id);
  if (!decoded) return send(client, error_reply(id, decoded.error()), {});
  const std::lock_guard lock(mutex_);
  seen_.push_back(*decoded);
  switch (decoded->kind) {
    case RequestKind::kInfer:
      return infer(client, *decoded, body);
    case RequestKind::kCancel:
      return cancel(client, decoded->request_id);
    case RequestKind::kBundle:
      return refuse_parts(client, *decoded);
    case RequestKind::kPing: {
      ReplyHeader pong;
      pong.kind = ReplyKind::kPong;
      pong.request_id = decoded->request_id;
      return send(client, pong, {});
    }
  }
}

void TestServer::refuse_parts(const ClientId& client, const RequestHeader& header) {
  if (header.model == "silent") return;
  ReplyHeader reply;
  reply.kind = ReplyKind::kBundle;
  reply.request_id = header.request_id;
  const auto post = [&](WireBuffer body) {
    edge_->post({client, std::move(encode_reply_header(reply, limits_)).value(), std::move(body)});
  };
  if (header.model == "bad-body") return post(WireBuffer::zeroed(12));
  if (header.model != "parts") {
    return send(client,
                error_reply(header.request_id, {ErrorCode::kInvalidArgument, "request kind 3 is not known"}),
                {});
  }
  const Error error{ErrorCode::kOverloaded, "try again later"};
  for (std::uint32_t part = header.parts + 1; part-- > 0;) {
    PartReply answer;
    answer.part = part;
    answer.error = &error;
    for (int times = 0; times < 2; ++times)
      post(std::move(encode_reply_bundle({&answer, 1}, limits_)).value());
  }
}

void TestServer::on_client_gone(const ClientId&, ClientGone) {}

void TestServer::infer(const ClientId& client, const RequestHeader& header, std::span<const std::byte> body) {
  if (header.model == "silent") return;
  if (header.model == "hold" || header.model == kUnavailableLater)
    return held_.push_back({client, header, {body.begin(), body.end()}});
  if (header.model == "rows") {
    send_rows(client, header);
    return held_.push_back({client, header, {body.begin(), body.end()}});
  }
  if (header.model == "unavailable") {
    return send(client, error_reply(header.request_id, {ErrorCode::kUnavailable, "not here"}), {});
  }
  if (header.model == "partials") return send_partials(client, header);
  if (header.model.starts_with("bad") || header.model == "version-9") return send_damaged(client, header);
  if (header.model == "refuse") {
    ReplyHeader refusal = error_reply(header.request_id, {ErrorCode::kOverloaded, "try again later"});
    refusal.retry_after_us = 1500;
    return send(client, refusal, {});
  }
  RequestHeader answered = header;
  if (header.model == "wrong-id") answered.request_id += 1000;
  echo(client, answered, body);
  if (header.model == "twice") echo(client, answered, body);
}

void TestServer::echo(const ClientId& client, const RequestHeader& header, std::span<const std::byte> body) {
  const auto decoded = decode_request_body(body, limits_);
  if (!decoded) return send(client, error_reply(header.request_id, decoded.error()), {});
  ReplyHeader reply;
  reply.request_id = header.request_id;
  reply.cells = header.cells_hint;
  reply.server = "test";
  send(client, reply, decoded->inputs);
}

void TestServer::send_partials(const ClientId& client, const RequestHeader& header) {
  ReplyHeader reply;
  reply.request_id = header.request_id;
  reply.kind = ReplyKind::kPartial;
  reply.final = false;
  for (const std::uint32_t index : {0, 1, 1, 2}) {
    reply.index = index;
    send(client, reply, std::vector{wire_tensor("index", std::span(&index, 1))});
  }
  reply = ReplyHeader{};
  reply.request_id = header.request_id;
  send(client, reply, {});
}

void TestServer::send_rows(const ClientId& client, const RequestHeader& header) {
  ReplyHeader reply;
  reply.request_id = header.request_id;
  reply.kind = ReplyKind::kPartial;
  reply.final = false;
  reply.model_version = header.model_version == 0 ? 7 : header.model_version;
  for (const std::uint32_t row : {header.stream_from, header.stream_from + 1}) {
    reply.index = row;
    send(client, reply, std::vector{wire_tensor("row", std::span(&row, 1))});
  }
}

void TestServer::send_damaged(const ClientId& client, const RequestHeader& header) {
  ReplyHeader reply;
  reply.request_id = header.request_id;
  if (header.model == "version-9") reply.version = 9;
  auto bytes = std::move(encode_reply_header(reply, limits_)).value();
  if (header.model == "bad-header") bytes.truncate(bytes.size() - 8);
  const std::vector<std::byte> noise(24, std::byte{0x77});
  edge_->post(
      {client, std::move(bytes), header.model == "bad-body" ? WireBuffer::copy_of(noise) : WireBuffer{}});
}

void TestServer::cancel(const ClientId& client, std::uint64_t id) {
  cancelled_.insert(id);
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) {
    return held.client == client && held.header.request_id == id;
  });
  if (found == held_.end()) return;
  held_.erase(found);
  send(client, error_reply(id, {ErrorCode::kCancelled, "the client asked for it"}), {});
}

void TestServer::send(const ClientId& client, const ReplyHeader& header,
                      std::span<const WireTensor> outputs) {
  WireBuffer body;
  if (header.kind == ReplyKind::kResult || header.kind == ReplyKind::kPartial) {
    body = std::move(encode_reply_body(outputs, limits_)).value();
  }
  edge_->post({client, std::move(encode_reply_header(header, limits_)).value(), std::move(body)});
}

}  // namespace volvox::test
