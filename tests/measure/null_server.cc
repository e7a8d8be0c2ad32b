// A server that answers each request at once with nothing: what a load generator can offer, it shows.
#include <csignal>
#include <cstdio>
#include <string>

#include <sys/prctl.h>

#include "protocol/codec/codec.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox {
namespace {

class NullServer final : public EdgeHandler {
 public:
  // Serves until the process is killed. Prints the address where it listens.
  int run() {
    auto edge = EdgeSocket::open({}, *this);
    if (!edge) return complain(edge.error());
    edge_ = std::move(*edge);
    if (Status bound = edge_->bind("tcp://127.0.0.1:*"); !bound) return complain(bound.error());
    std::printf("%s\n", edge_->endpoint().c_str());
    std::fflush(stdout);
    for (;;) edge_->run_once(Duration::max());
  }

  void on_request(const ClientId& client, std::span<const std::byte> bytes,
                  std::span<const std::byte>) override {
    const auto request = decode_request_header(bytes, limits_);
    if (!request || request->kind == RequestKind::kCancel) return;
    ReplyHeader header;
    header.request_id = request->request_id;
    header.kind = request->kind == RequestKind::kPing ? ReplyKind::kPong : ReplyKind::kResult;
    header.final = true;
    WireBuffer body;
    if (header.kind == ReplyKind::kResult) body = encode_reply_body({}, limits_).value();
    edge_->post({client, encode_reply_header(header, limits_).value(), std::move(body)});
  }
  void on_client_gone(const ClientId&, ClientGone) override {}

 private:
  static int complain(const Error& error) {
    std::fprintf(stderr, "volvox_null: error: %s\n", error.message.c_str());
    return 1;
  }

  const WireLimits limits_{};
  std::unique_ptr<EdgeSocket> edge_;
};

}  // namespace
}  // namespace volvox

int main() {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // with whoever measures
  return volvox::NullServer().run();
}
