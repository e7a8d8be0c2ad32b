#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "actors/process/server.h"
#include "cells/ir/check_hash.h"
#include "device/fake_device.h"
#include "device/timed_device.h"
#include "protocol/client/client.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/unit/actors/patience.h"

namespace volvox {

// A folder of its own for each test, gone afterwards.
class Scratch {
 public:
  Scratch() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            ("volvox_" + std::string(test->test_suite_name()) + "_" + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Models = std::vector<std::shared_ptr<const Model>>;
using Devices = std::vector<std::shared_ptr<Device>>;

// The models "check", "every" (check with an answer for every step) and "noop".
inline Models write_models(const Scratch& scratch) {
  Models models;
  for (const std::string name : {"check", "every", "noop"}) {
    NewModel model;
    model.path = scratch.path() / name;
    model.every_step = name == "every";
    EXPECT_TRUE(write_new_model(model, name == "noop" ? "noop" : "check"));
    auto loaded = load_model(model.path);
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (loaded) models.push_back(*loaded);
  }
  return models;
}

inline ServeConfig loopback() {
  ServeConfig config;
  config.server.listen = "tcp://127.0.0.1:0";
  config.server.metrics = "";
  config.http.listen = "";
  config.admin.socket = "";
  return config;
}

// A device on which no task ends before the test lets it.
inline std::shared_ptr<FakeDevice> held_device() {
  FakeDevice::Options options;
  options.run_when_waited_for = false;
  return std::make_shared<FakeDevice>(options);
}

// Lets the tasks of the device's first queue run, from now on.
class LetRun {
 public:
  explicit LetRun(std::shared_ptr<FakeDevice> device)
      : thread_([device = std::move(device)](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (device->run(0, 100) == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          }
        }) {}

 private:
  std::jthread thread_;
};

// A whole server on loopback, with a client.
struct House {
  explicit House(ServeConfig config = loopback(), TimedCost cost = {0, 0}, FaultHooks faults = {})
      : House(config, std::make_shared<TimedDevice>(cost), std::move(faults)) {}
  House(const ServeConfig& config, std::shared_ptr<Device> device, FaultHooks faults = {},
        Models (*write)(const Scratch&) = write_models)
      : House(Devices{std::move(device)}, config, std::move(faults), write) {}
  House(const Devices& devices, const ServeConfig& config, FaultHooks faults = {},
        Models (*write)(const Scratch&) = write_models) {
    models = write(scratch);
    ServeConfig with_repository = config;
    with_repository.server.models = scratch.path().string();
    auto started = Server::start(with_repository, devices, models, monitor, std::move(faults));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) return;
    server = std::move(*started);
    client = connect();
  }

  std::unique_ptr<Client> connect() const {
    ClientOptions options;
    options.channel.endpoint = server->endpoint();
    auto connected = Client::connect(options);
    EXPECT_TRUE(connected) << connected.error().message;
    return std::move(*connected);
  }

  Reply ask(const ClientRequest& request) const {
    auto answer = client->submit(request);
    EXPECT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    return answer.get();
  }
  Reply ask(const std::vector<std::int32_t>& tokens, const char* model = "check") const {
    return ask(chain_request(model, "tokens", std::span(tokens)));
  }
  std::future<Reply> submit(const std::vector<std::int32_t>& tokens) const {
    return client->submit(chain_request("check", "tokens", std::span(tokens)));
  }
  // Waits until so many requests hold state on the device.
  void wait_for_live(int requests) const;
  // Whether requests are answered rightly again, after a failure.
  bool recovers() const {
    for (const auto until = std::chrono::steady_clock::now() + kLongEnough;
         std::chrono::steady_clock::now() < until;) {
      if (ask({1, 2, 3}).status()) return true;
    }
    return false;
  }

  Scratch scratch;
  Models models;
  Monitor monitor{"test"};
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

// The value of a metric, by its name with labels; −1: there is none.
inline double metric(const House& house, const std::string& name) {
  const std::string page = house.monitor.metrics_page().body;
  const std::size_t at = page.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
}

inline void wait_for_metric(const House& house, const std::string& name, double value) {
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (metric(house, name) != value) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << name << " is " << metric(house, name);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline void House::wait_for_live(int requests) const {
  wait_for_metric(*this, "volvox_live_requests{device=\"fake\"}", requests);
}

inline constexpr std::uint64_t kPoison =
    0xdead;  // the trace id of a request that hurts, where a test says so

// Refers to the tokens.
inline ClientRequest poisoned(const std::vector<std::int32_t>& tokens) {
  ClientRequest request = chain_request("check", "tokens", std::span(tokens));
  request.header.trace_hi = kPoison;
  return request;
}

inline std::uint64_t check_answer(const std::vector<std::int32_t>& tokens) {
  std::uint64_t state = 0;
  for (const std::int32_t token : tokens) state = check_hash(state, static_cast<std::uint64_t>(token));
  return state;
}

// The answer of the check model; 0 for anything else.
inline std::uint64_t state_in(const Reply& reply) {
  const WireTensor* state = reply.body.find("state");
  if (!reply.status() || state == nullptr) return 0;
  const auto values = state->values<std::uint64_t>();
  return values && values->size() == 1 ? values->front() : 0;
}

inline ErrorCode code_of(const Reply& reply) {
  return reply.header.kind == ReplyKind::kError ? reply.header.error.code : ErrorCode{};
}

}  // namespace volvox
