// What shows only after a while.

#include <memory>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/system/server_process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

double resident_mib(const Process& process) {
  std::istringstream lines(read_file("/proc/" + std::to_string(process.pid()) + "/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024.0;
  }
  return 0;
}

class Soak : public testing::Test {
 protected:
  std::unique_ptr<Process> load_beside(ServerProcess& server, const std::string& name,
                                       std::vector<std::string> options) {
    options.insert(options.end(), {"--warmup", "0", "--verify", server.model("m")});
    return std::make_unique<Process>(server.load_command("m", options, report_file(server, name)),
                                     server.scratch(), name);
  }

  static std::string report_file(const ServerProcess& server, const std::string& name) {
    return server.scratch().file(name + ".json");
  }

  static json report_of(const ServerProcess& server, const std::string& name) {
    return json::parse(read_file(report_file(server, name)), nullptr, false);
  }
};

TEST_F(Soak, MemoryStaysFlat) {
  ServerProcess server;
  ASSERT_NO_FATAL_FAILURE(server.add_model("lstm", "m", {"--hidden", "128"}));
  ASSERT_NO_FATAL_FAILURE(server.start());
  const auto load = load_beside(server, "load", {"--rate", "200", "--seconds", "60", "--require-all"});
  std::this_thread::sleep_for(seconds(20));
  const double early = resident_mib(server.process());
  std::this_thread::sleep_for(seconds(38));
  const double late = resident_mib(server.process());
  EXPECT_GT(early, 0.0);
  EXPECT_LE(late, early + 16.0);
  EXPECT_EQ(load->wait(seconds(60) * slowness()), (ExitStatus{0, 0})) << load->out() << load->err();
  EXPECT_EQ(report_of(server, "load")["wrong"], 0);
}

// Loads of several kinds side by side, and clients that die among them.
TEST_F(Soak, EveryStepIsRightWhileClientsComeAndGo) {
  ServerProcess server;
  ASSERT_NO_FATAL_FAILURE(server.add_model("check", "m"));
  ASSERT_NO_FATAL_FAILURE(server.start());
  std::vector<std::unique_ptr<Process>> loads;
  loads.push_back(load_beside(server, "open", {"--rate", "300", "--connections", "2", "--seconds", "25"}));
  loads.push_back(
      load_beside(server, "closed", {"--concurrency", "24", "--seconds", "25", "--priority", "low"}));
  loads.push_back(load_beside(server, "urgent", {"--rate", "20", "--seconds", "25", "--priority", "high"}));
  for (int i = 0; i < 10; ++i) {
    const auto doomed = load_beside(server, "doomed", {"--concurrency", "200", "--seconds", "60"});
    std::this_thread::sleep_for(seconds(2));
  }
  for (const auto& load : loads) {
    EXPECT_EQ(load->wait(seconds(90) * slowness()), (ExitStatus{0, 0})) << load->out() << load->err();
  }
  for (const std::string name : {"open", "closed", "urgent"}) {
    const json report = report_of(server, name);
    ASSERT_TRUE(report.is_object()) << name;
    EXPECT_EQ(report["completed"], report["offered"]) << name << report;
    EXPECT_GT(report["verified"], 100) << name;
    EXPECT_EQ(report["wrong"], 0) << name;
    EXPECT_EQ(report["duplicates"], 0) << name;
  }
  EXPECT_EQ(server.stop(seconds(15)), (ExitStatus{0, 0})) << server.log();
}

// Whenever SIGTERM comes, everything is answered or refused by name, and the server leaves.
TEST_F(Soak, DrainsAtAnyMoment) {
  for (int round = 0; round < 12; ++round) {
    ServerProcess server;
    ASSERT_NO_FATAL_FAILURE(server.add_model("check", "m"));
    ASSERT_NO_FATAL_FAILURE(server.start());
    const auto load =
        load_beside(server, "load", {"--concurrency", "64", "--seconds", "3", "--timeout", "3"});
    ASSERT_NO_FATAL_FAILURE(server.wait_for_answers());  // a load takes its time to start
    std::this_thread::sleep_for(milliseconds(150 * round));
    EXPECT_EQ(server.stop(seconds(10)), (ExitStatus{0, 0})) << server.log();
    ASSERT_TRUE(load->wait(seconds(20) * slowness()).has_value()) << round;
    const json report = report_of(server, "load");
    ASSERT_TRUE(report.is_object()) << load->err();
    EXPECT_EQ(report["wrong"], 0) << round;
    EXPECT_EQ(report["duplicates"], 0) << round;
    EXPECT_FALSE(report["errors"].contains("LOST")) << round << report;
    EXPECT_FALSE(report["errors"].contains("INTERNAL")) << round << report;
  }
}

}  // namespace
}  // namespace volvox
