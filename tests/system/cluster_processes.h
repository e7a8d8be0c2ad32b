#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/system/process.h"

namespace volvox {

// Routers and nodes as processes of their own, on loopback, in one scratch folder. A task of the nodes takes
// 2 ms, so that a request of 24 steps is under way for some 50 ms.
class ClusterProcesses : public testing::Test {
 protected:
  struct RouterProcess {
    std::unique_ptr<Process> process;
    std::string endpoint, metrics, dial;
  };

  void SetUp() override;

  using Options = std::vector<std::string>;

  // Waits until it is ready. One that is started again under its name has the same addresses as before.
  void start_router(const std::string& name, const Options& options = {},
                    const std::string& program = volvox_binary());
  // Dials all routers that were started before. Options replace those that nodes have here.
  void start_node(const std::string& name, const Options& options = {},
                  const std::string& program = volvox_binary());

  // At each router that runs.
  void wait_for_members(int members);
  // Each router that runs answers for model "m"; `keys`: a client's, where routers ask for them.
  void wait_until_served(const Options& keys = {});

  template <class Condition>
  void wait_until(const std::string& what, Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20) * slowness();
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "not in time: " << what << "\n" << logs();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // Until the process's log has them: it is written behind what it tells of.
  void wait_for_words(const Process& process, const std::string& words) {
    wait_until(words, [&] { return process.err().find(words) != std::string::npos; });
  }

  // A number on a router's page; −1 if it is not there.
  double metric(const std::string& name, const std::string& router = "r1") const;
  // The same of any process's page, "http://HOST:PORT".
  static double metric_at(const std::string& address, const std::string& name);
  void wait_for_requests_in_flight(double count, const std::string& router = "r1");

  // `volvox load` against all routers, with these options besides the endpoints; its report is what
  // load_report() gives when it has ended.
  void start_load(const Options& options, const std::string& model = "m");
  // For model "m", once it is served.
  void start_requests(const std::string& rate, const std::string& duration, const Options& keys = {});
  nlohmann::json load_report();
  void expect_all_answered(const nlohmann::json& report);

  Process& node(const std::string& name) { return *nodes_.at(name); }
  Process& router(const std::string& name) { return *routers_.at(name).process; }
  std::string admin(const std::string& router) const { return file(router + ".admin"); }
  const std::string& endpoint(const std::string& router) const { return routers_.at(router).endpoint; }
  const std::string& dial(const std::string& router) const { return routers_.at(router).dial; }
  std::string endpoints() const;  // of all routers, with commas
  std::string logs() const;
  std::string file(const std::string& name) const { return scratch_.file(name); }
  std::string models() const { return file("models"); }
  // Of a router that takes no slow node for a dead one, where the test is about something else.
  Options patient() const { return {"--config", file("patient.toml")}; }
  const ScratchFolder& scratch() const { return scratch_; }

  std::optional<ExitStatus> load_ended_;
  // Requests that clients may have sent to another router, unseen by whoever asked: a test that harms a
  // router says how many. With one router nothing is sent twice.
  int may_resend_ = 0;

 private:
  bool read_ports(const std::string& name);

  ScratchFolder scratch_;
  std::map<std::string, RouterProcess> routers_;
  std::map<std::string, std::unique_ptr<Process>> nodes_;
  std::unique_ptr<Process> load_;
};

}  // namespace volvox
