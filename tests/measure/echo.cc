// What the ways alone cost on a machine: a message there and back between two processes, over ZeroMQ as
// between a client and a router, and over CAF as between a router and a node, by turns and with a pause
// before each.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "actors/system/actor_system.h"
#include "protocol/sockets/zmq_socket.h"

namespace volvox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 200;  // about as many as a small request has

struct Options {
  double rate = 200, seconds = 5;
};

// A process that runs `serve` with a number to tell, until this object goes.
class Child {
 public:
  template <class Serve>
  explicit Child(Serve serve) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve([&](std::uint16_t port) { static_cast<void>(!write(ends[1], &port, sizeof port)); });
      _exit(1);
    }
    close(ends[1]);
    if (read(ends[0], &port_, sizeof port_) != sizeof port_) port_ = 0;
    close(ends[0]);
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint16_t port() const { return port_; }  // 0: it failed

 private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

template <class Tell>
void serve_zmq(Tell tell) {
  ZmqContext context;
  ZmqSocket socket(context, ZMQ_ROUTER);
  if (!socket.bind("tcp://127.0.0.1:*")) return;
  const std::string endpoint = socket.last_endpoint();
  tell(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  std::array<char, 2 * kBytes> identity{}, bytes{};
  for (;;) {
    const int name = zmq_recv(socket.handle(), identity.data(), identity.size(), 0);
    const int count = zmq_recv(socket.handle(), bytes.data(), bytes.size(), 0);
    if (name < 0 || count < 0) return;
    zmq_send(socket.handle(), identity.data(), static_cast<std::size_t>(name), ZMQ_SNDMORE);
    zmq_send(socket.handle(), bytes.data(), static_cast<std::size_t>(count), 0);
  }
}

template <class Tell>
void serve_caf(const ClusterTransport& transport, Tell tell) {
  SystemConfig config(1, &transport);
  ActorSystem system(config);
  const caf::actor echo = system.spawn([](caf::event_based_actor*) -> caf::behavior {
    return {[](const ClusterPacket& packet) { return packet; }};
  });
  const auto port = transport.publish(system, echo, {"127.0.0.1", 0});
  if (!port) return;
  tell(*port);
  for (;;) pause();
}

nlohmann::json quantiles(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  nlohmann::json out;
  for (const auto& [name, part] : {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99)})
    out[name] = ms[static_cast<std::size_t>(part * static_cast<double>(ms.size() - 1))];
  return out;
}

template <class Send>
void measure(std::vector<double>& ms, Duration pause, Send send) {
  std::this_thread::sleep_for(pause);
  const auto begin = Clock::now();
  send();
  ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
}

int run(const Options& options) {
  prometheus::Registry registry;
  ClusterMetrics metrics(registry);
  const auto transport = ClusterTransport::open({}, metrics);
  if (!transport) return 1;
  const Child zmq([](auto tell) { serve_zmq(tell); });
  const Child caf_child([&](auto tell) { serve_caf(**transport, tell); });
  if (zmq.port() == 0 || caf_child.port() == 0) {
    std::fprintf(stderr, "an echo cannot listen on loopback\n");
    return 1;
  }
  ZmqContext context;
  ZmqSocket socket(context, ZMQ_DEALER);
  if (!socket.connect("tcp://127.0.0.1:" + std::to_string(zmq.port()))) return 1;
  SystemConfig config(1, transport->get());
  ActorSystem system(config);
  const auto echo = system.middleman().remote_actor("127.0.0.1", caf_child.port());
  if (!echo) return 1;
  const caf::scoped_actor self(system);
  std::array<char, kBytes> bytes{};
  const auto content = std::as_bytes(std::span(bytes));
  const auto over_zmq = [&] {
    zmq_send(socket.handle(), bytes.data(), bytes.size(), 0);
    zmq_recv(socket.handle(), bytes.data(), bytes.size(), 0);
  };
  const auto over_caf = [&] {
    self->request(*echo, caf::infinite, ClusterPacket{{WireBuffer::share_copy_of(content), nullptr}})
        .receive([](const ClusterPacket&) {}, [](const caf::error&) {});
  };
  const auto pause = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / options.rate));
  std::vector<double> zmq_ms, caf_ms;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  do {
    measure(zmq_ms, pause, over_zmq);
    measure(caf_ms, pause, over_caf);
  } while (Clock::now() < end);
  const nlohmann::json report{{"zeromq_ms", quantiles(zmq_ms)}, {"caf_ms", quantiles(caf_ms)}};
  std::printf("%s\n", report.dump().c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace volvox

int main(int count, char** arguments) {
  CLI::App app(
      "Measures a message of 200 bytes there and back over ZeroMQ and over CAF, on loopback.\n"
      "Prints JSON: zeromq_ms and caf_ms, each with p50, p90 and p99.");
  volvox::Options options;
  app.add_option("--rate", options.rate, "Messages a second (default 200)")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "For so long (default 5)")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, count, arguments);
  return volvox::run(options);
}
