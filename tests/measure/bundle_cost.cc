// What a part of a session costs a server and its client besides the model: every tick each of many sessions
// sends a part, all in one bundle, or each in a message of its own. Tells CPU time per part on both sides.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "protocol/client/channel.h"
#include "protocol/client/session_stream.h"

namespace volvox {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string endpoint = "tcp://127.0.0.1:7100", model = "lstm", input = "tokens";
  std::size_t sessions = 2500, width = 0;  // floats of a row; 0: tokens
  std::uint32_t steps = 1, ticks = 200, every_us = 0;
  int pid = 0;  // of the server
  bool lone = false;
};

double own_cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// 0 without one.
double cpu_s_of(int pid) {
  if (pid == 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name = text.rfind(')');
  if (name == std::string::npos || name + 2 > text.size()) return 0;  // it has ended
  std::istringstream fields(text.substr(name + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

class Load {
 public:
  Load(const Options& options, Channel& channel) : options_(options), channel_(channel) {
    for (std::size_t i = 0; i < options.sessions; ++i) sessions_.push_back(SessionStream::begin());
    const std::size_t rows = options.sessions * options.steps;
    tokens_.resize(options.width == 0 ? rows : 0, 17);
    floats_.resize(rows * options.width, 0.25F);
    channel.on_bundle([this](BundleReply&& reply) { take(reply); });
  }

  // One part of each session, answered.
  bool tick() {
    left_ = options_.sessions;
    if (!(options_.lone ? send_lone() : send_bundle())) return false;
    while (left_ > 0) channel_.poll(std::chrono::seconds(1), [this](Reply&& reply) { take(reply); });
    return true;
  }
  std::uint64_t failed() const { return failed_; }
  std::uint64_t replies() const { return replies_; }
  const std::string& trouble() const { return trouble_; }

 private:
  WireTensor rows(std::size_t first, std::size_t count) const {
    if (options_.width == 0)
      return wire_tensor(options_.input, std::span<const std::int32_t>(tokens_).subspan(first, count));
    const auto values =
        std::span<const float>(floats_).subspan(first * options_.width, count * options_.width);
    return wire_tensor(options_.input, values,
                       {static_cast<std::int64_t>(count), static_cast<std::int64_t>(options_.width)});
  }

  bool send_bundle() {
    bundle_.header.model = options_.model;
    bundle_.parts.clear();
    for (const SessionStream& session : sessions_) bundle_.parts.add(session.next(), options_.steps);
    bundle_.inputs = {rows(0, sessions_.size() * options_.steps)};
    const auto sent = channel_.send(bundle_);
    if (!sent) trouble_ = to_string(sent.error());
    return sent.has_value();
  }

  bool send_lone() {
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      ClientRequest request;
      request.header.model = options_.model;
      request.header.cells_hint = options_.steps;
      request.body.structure = ChainStructure{options_.steps};
      request.body.inputs = {rows(i * options_.steps, options_.steps)};
      sessions_[i].stamp(request);
      const auto sent = channel_.send(request);
      if (!sent) return trouble_ = to_string(sent.error()), false;
      by_id_[*sent] = i;
    }
    return true;
  }

  void take(const BundleReply& reply) {
    ++replies_;
    for (std::size_t i = 0; i < reply.body.done.size(); ++i)
      sessions_[reply.body.done[i]].take(**reply.body.tokens.answered(i));
    for (const PartError& error : reply.body.errors) trouble_ = to_string(error.error);
    failed_ += reply.body.errors.size();
    left_ -= reply.body.done.size() + reply.body.errors.size();
  }

  void take(const Reply& reply) {
    ++replies_;
    --left_;
    const auto found = by_id_.find(reply.header.request_id);
    if (!sessions_[found->second].take(reply)) ++failed_, trouble_ = to_string(reply.header.error);
    by_id_.erase(found);
  }

  const Options& options_;
  Channel& channel_;
  std::vector<SessionStream> sessions_;
  std::vector<std::int32_t> tokens_;
  std::vector<float> floats_;
  ClientBundle bundle_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  std::size_t left_ = 0;
  std::uint64_t failed_ = 0, replies_ = 0;
  std::string trouble_;
};

int run(const Options& options) {
  ChannelOptions channel_options;
  channel_options.endpoint = options.endpoint;
  auto channel = Channel::connect(channel_options);
  if (!channel) return std::fprintf(stderr, "%s\n", to_string(channel.error()).c_str()), 1;
  Load load(options, **channel);
  constexpr std::uint32_t kWarm = 5;
  double client_s = 0, server_s = 0;
  Clock::time_point start;
  std::vector<double> took_ms;
  for (std::uint32_t tick = 0; tick < kWarm + options.ticks; ++tick) {
    if (tick == kWarm) start = Clock::now(), client_s = own_cpu_s(), server_s = cpu_s_of(options.pid);
    const auto from = Clock::now();
    if (!load.tick()) return std::fprintf(stderr, "%s\n", load.trouble().c_str()), 1;
    if (tick >= kWarm)
      took_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
    if (options.every_us != 0) {
      const auto left = std::chrono::microseconds(options.every_us) - (Clock::now() - from);
      if (left > Clock::duration::zero())
        usleep(static_cast<useconds_t>(std::chrono::duration_cast<std::chrono::microseconds>(left).count()));
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto parts = static_cast<double>(options.ticks) * static_cast<double>(options.sessions);
  std::sort(took_ms.begin(), took_ms.end());
  std::printf(
      "%s: %.0f parts/s, client %.2f us/part, server %.2f us/part, tick p50 %.2f ms, p99 %.2f ms, "
      "%.1f messages/tick, %llu failed %s\n",
      options.lone ? "lone" : "bundled", parts / seconds, 1e6 * (own_cpu_s() - client_s) / parts,
      1e6 * (cpu_s_of(options.pid) - server_s) / parts, took_ms[took_ms.size() / 2],
      took_ms[took_ms.size() * 99 / 100], static_cast<double>(load.replies()) / (kWarm + options.ticks),
      static_cast<unsigned long long>(load.failed()), load.trouble().c_str());
  return load.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace volvox

int main(int count, char** arguments) {
  volvox::Options options;
  CLI::App app("CPU time per part of a session, bundled or alone");
  app.add_option("--server", options.endpoint);
  app.add_option("--model", options.model);
  app.add_option("--input", options.input);
  app.add_option("--width", options.width, "floats of a row; 0: tokens");
  app.add_option("--sessions", options.sessions);
  app.add_option("--steps", options.steps, "of each part");
  app.add_option("--ticks", options.ticks);
  app.add_option("--every-us", options.every_us, "from tick to tick; 0: the next when all is answered");
  app.add_option("--pid", options.pid, "of the server, whose CPU time is told as well");
  app.add_flag("--lone", options.lone, "a message for each part");
  CLI11_PARSE(app, count, arguments);
  return volvox::run(options);
}
