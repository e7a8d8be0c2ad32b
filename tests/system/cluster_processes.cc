#include "tests/system/cluster_processes.h"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

#include "loadgen/server/http_get.h"

namespace volvox {

using nlohmann::json;
using std::chrono::seconds;

void ClusterProcesses::SetUp() {
  std::filesystem::create_directory(models());
  const CommandResult made =
      run_volvox({"models", "new", "check", models() + "/m", "--max-batch", "32"}, seconds(20));
  ASSERT_TRUE(made.ok()) << made.err;
  write_file(file("node.toml"), "[device]\nkind = \"timed\"\ntimed_task_us = 2000.0\ntimed_row_us = 0.0\n");
  write_file(file("patient.toml"), "[cluster]\nsuspect_ms = " + std::to_string(3000 * slowness()) +
                                       "\ndead_ms = " + std::to_string(4000 * slowness()) + "\n");
}

void ClusterProcesses::start_router(const std::string& name, const Options& options,
                                    const std::string& program) {
  RouterProcess& router = routers_[name];
  const bool again = router.process != nullptr;
  std::filesystem::remove(file(name + ".ports"));
  Options command{program, "router", "--name", name};
  for (const auto& [option, address, any] :
       {std::tuple("--listen", router.endpoint, "tcp://127.0.0.1:0"),
        std::tuple("--metrics", again ? router.metrics.substr(7) : "", "127.0.0.1:0"),
        std::tuple("--cluster-listen", router.dial, "127.0.0.1:0")})
    command.insert(command.end(), {option, again ? address : any});
  command.insert(command.end(), {"--admin", admin(name), "--http", "", "--port-file", file(name + ".ports")});
  command.insert(command.end(), options.begin(), options.end());
  router.process = std::make_unique<Process>(command, scratch_, name + (again ? ".again" : ""));
  ASSERT_NO_FATAL_FAILURE(wait_until("the router is ready", [&] { return read_ports(name); }));
}

bool ClusterProcesses::read_ports(const std::string& name) {
  RouterProcess& router = routers_[name];
  std::istringstream lines(read_file(file(name + ".ports")));
  return static_cast<bool>(std::getline(lines, router.endpoint) && std::getline(lines, router.metrics) &&
                           std::getline(lines, router.dial));
}

void ClusterProcesses::start_node(const std::string& name, const Options& options,
                                  const std::string& program) {
  std::string dial;
  for (const auto& [router, process] : routers_) dial += (dial.empty() ? "" : ",") + process.dial;
  Options command{program, "node", "--name", name, "--routers", dial, "--models", models()};
  for (const auto& [option, value] :
       {std::pair("--config", file("node.toml")), std::pair("--listen", std::string("tcp://127.0.0.1:0")),
        std::pair("--metrics", std::string()), std::pair("--http", std::string())}) {
    if (std::ranges::find(options, option) == options.end()) command.insert(command.end(), {option, value});
  }
  command.insert(command.end(), options.begin(), options.end());
  const bool again = nodes_.contains(name);
  nodes_[name] = std::make_unique<Process>(command, scratch_, name + (again ? ".again" : ""));
}

void ClusterProcesses::wait_for_members(int members) {
  for (const auto& router : routers_) {
    if (!router.second.process->running()) continue;
    ASSERT_NO_FATAL_FAILURE(wait_until("the members are there", [&] {
      return metric_at(router.second.metrics, "volvox_cluster_members") == members;
    }));
  }
}

double ClusterProcesses::metric(const std::string& name, const std::string& router) const {
  return metric_at(routers_.at(router).metrics, name);
}

double ClusterProcesses::metric_at(const std::string& address, const std::string& name) {
  const auto got = http_get(address + "/metrics", seconds(5));
  std::istringstream page(got.value_or(HttpResponse{}).body);
  for (std::string line; std::getline(page, line);)
    if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
  return -1;
}

void ClusterProcesses::wait_for_requests_in_flight(double count, const std::string& router) {
  ASSERT_NO_FATAL_FAILURE(wait_until("requests are in flight", [&] {
    return metric("volvox_cluster_requests_in_flight", router) >= count;
  }));
}

void ClusterProcesses::start_load(const Options& options, const std::string& model) {
  Options command{volvox_binary(), "load", "--server", endpoints(),
                  "--model",       model,  "--json",   file("load.json")};
  command.insert(command.end(), options.begin(), options.end());
  load_ended_.reset();
  load_ = std::make_unique<Process>(command, scratch_, "load");
}

void ClusterProcesses::wait_until_served(const Options& keys) {
  const std::string request = json{{"model", "m"}, {"tokens", {1, 2, 3}}}.dump();
  for (const auto& [name, router] : routers_) {
    if (!router.process->running()) continue;
    Options command{"infer", "--connect", router.endpoint};
    command.insert(command.end(), keys.begin(), keys.end());
    ASSERT_NO_FATAL_FAILURE(
        wait_until("a request is answered", [&] { return run_volvox(command, seconds(20), request).ok(); }));
  }
}

void ClusterProcesses::start_requests(const std::string& rate, const std::string& duration,
                                      const Options& keys) {
  // A node that has joined may not have said yet how many requests it takes.
  ASSERT_NO_FATAL_FAILURE(wait_until_served(keys));
  Options all{"--length", "24",       "--rate",        rate,           "--seconds", duration, "--warmup",
              "0",        "--verify", models() + "/m", "--require-all"};
  all.insert(all.end(), keys.begin(), keys.end());
  start_load(all);
}

json ClusterProcesses::load_report() {
  load_ended_ = load_->wait(seconds(40) * slowness());
  EXPECT_TRUE(load_ended_) << logs();
  const json report = json::parse(read_file(file("load.json")), nullptr, false);
  EXPECT_TRUE(report.is_object()) << load_->out() << load_->err();
  return report.is_object() ? report : json::object();
}

void ClusterProcesses::expect_all_answered(const json& report) {
  EXPECT_GT(report.value("completed", 0), 0);
  EXPECT_EQ(report.value("completed", 0), report.value("offered", 1)) << report << logs();
  EXPECT_EQ(report.value("wrong", 1), 0);
  EXPECT_EQ(report.value("duplicates", 1), 0);
  EXPECT_LE(report.value("resent", may_resend_ + 1), may_resend_) << report << logs();
  EXPECT_EQ(load_ended_, (ExitStatus{0, 0}));
}

std::string ClusterProcesses::endpoints() const {
  std::string all;
  for (const auto& [name, router] : routers_) all += (all.empty() ? "" : ",") + router.endpoint;
  return all;
}

std::string ClusterProcesses::logs() const {
  std::string text;
  for (const auto& [name, router] : routers_) text += name + ":\n" + router.process->err();
  for (const auto& [name, process] : nodes_) text += name + ":\n" + process->err();
  return text;
}

}  // namespace volvox
