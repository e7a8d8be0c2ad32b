#include "actors/cluster/cluster_transport.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include <caf/openssl/all.hpp>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actors/system/actor_system.h"
#include "protocol/tls/names.h"

namespace volvox {
namespace {

constexpr Duration kBetweenWarnings = std::chrono::seconds(1);
constexpr Duration kLookUp = std::chrono::seconds(1);  // which connection is whose
constexpr std::time_t kDay = 24 * 3600;
constexpr std::time_t kSoon = 30 * kDay;  // a certificate that expires before is told of

// Counts every connection that is turned away, and tells of one a second at most.
std::unique_ptr<TlsWatch> watch_connections(const ClusterSection& cluster, ClusterMetrics& metrics) {
  auto refused = [&metrics, told = TimePoint{}](const std::string& peer, const std::string& why) mutable {
    metrics.connection_refused();
    const TimePoint now = std::chrono::steady_clock::now();
    if (now - told < kBetweenWarnings) return;
    told = now;
    spdlog::warn("a connection from {} to the cluster's port was refused: {}", peer, why);
  };
  return std::make_unique<TlsWatch>(std::move(refused), std::chrono::milliseconds(cluster.join_ms),
                                    cluster.max_handshakes);
}

}  // namespace

Result<MemoryFile> MemoryFile::with(const std::string& text) {
  MemoryFile file;
  file.fd_ = memfd_create("volvox", MFD_CLOEXEC);
  if (file.fd_ >= 0 && ::write(file.fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return file;
  return fail(ErrorCode::kUnavailable, std::string("no memory for a file: ") + std::strerror(errno));
}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::string MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(fd_);
}

Result<std::shared_ptr<const ClusterTransport>> ClusterTransport::open(const ClusterSection& cluster,
                                                                       ClusterMetrics& metrics,
                                                                       const std::string& name) {
  auto transport = std::make_shared<ClusterTransport>();
  if (cluster.tls_certificate.empty()) return transport;
  const std::time_t now = std::time(nullptr);
  const auto read = read_tls_credentials({cluster.tls_certificate, cluster.tls_key, cluster.tls_ca}, now);
  if (!read) return tl::unexpected(read.error());
  if (Status certified = name.empty() ? Status() : check_certified(read->names, name); !certified)
    return invalid("cluster.tls_certificate: " + certified.error().message);
  auto context = make_tls_context(*read);
  if (!context) return tl::unexpected(context.error());
  transport->tls_ = std::move(*context);
  transport->watch_ = watch_connections(cluster, metrics);
  for (auto [file, text] :
       {std::pair(&transport->certificate_, &read->certificate), std::pair(&transport->key_, &read->key),
        std::pair(&transport->authority_, &read->authority)}) {
    auto held = MemoryFile::with(*text);
    if (!held) return tl::unexpected(held.error());
    *file = std::move(*held);
  }
  metrics.set_certificate_end(read->expires);
  spdlog::info("links are encrypted; this process is '{}'", read->name);
  if (read->expires - now < kSoon) {
    spdlog::warn("a certificate of {} or {} expires in {} days: renew it, and restart this process",
                 cluster.tls_certificate, cluster.tls_ca, (read->expires - now) / kDay);
  }
  return transport;
}

void ClusterTransport::configure(caf::actor_system_config& config) const {
  config.load<caf::io::middleman>();
  if (!tls_) return;
  config.load<caf::openssl::manager>();
  config.openssl_certificate = certificate_.path();
  config.openssl_key = key_.path();
  config.openssl_cafile = authority_.path();
}

Status ClusterTransport::check(caf::actor_system& system) const {
  if (!tls_ || (system.has_openssl_manager() && system.openssl_manager().authentication_enabled())) return {};
  return fail(ErrorCode::kInternal, "CAF does not authenticate its peers, although it was told to");
}

Result<std::uint16_t> ClusterTransport::publish(caf::actor_system& system, const caf::actor& whom,
                                                const HostPort& at) const {
  const auto port = tls_ ? caf::openssl::publish(whom, at.port, at.host.c_str(), true)
                         : system.middleman().publish(whom, at.port, at.host.c_str(), true);
  if (port) return *port;
  return fail(ErrorCode::kUnavailable, "cluster.listen: " + at.host + ":" + std::to_string(at.port) +
                                           " cannot be bound; is it in use?");
}

void ClusterTransport::hide(caf::actor_system& system, std::uint16_t port) const {
  if (connections_have_failed(system)) return;  // and the port is closed
  if (!system.middleman().close(port)) spdlog::warn("port {} of the cluster cannot be closed", port);
}

void ClusterTransport::tend(TimePoint now) const {
  if (watch_) watch_->end_slow_ones(now);
}

void ClusterTransport::check_name(caf::event_based_actor* self, const caf::actor& peer,
                                  const std::string& name, std::function<void(const Status&)> then) const {
  if (!tls_) return then({});
  const auto failed = [then](const caf::error&) {
    then(fail(ErrorCode::kUnavailable, "it is not known over which connection the node came; try again"));
  };
  self->request(dialer(self->system()), kLookUp, caf::get_atom::value, peer.node())
      .then([watch = watch_.get(), name, then](
                const caf::node_id&, const std::string& host,
                std::uint16_t port) { then(check_certified(watch->names(host, port), name)); },
            failed);
}

caf::io::middleman_actor ClusterTransport::dialer(caf::actor_system& system) const {
  return tls_ ? system.openssl_manager().actor_handle() : system.middleman().actor_handle();
}

}  // namespace volvox
