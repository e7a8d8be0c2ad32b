#include "monitoring/monitor.h"

#include <chrono>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitoring/metrics/outcomes.h"
#include "monitoring/metrics/process_metrics.h"

namespace volvox {
namespace {

using testing::HasSubstr;

EngineSnapshot sample_engine() {
  EngineSnapshot engine;
  engine.device = "cpu";
  engine.cells = 1000;
  engine.tasks = 20;
  engine.rows_executed = 1010;
  engine.rows_padding = 10;
  engine.rows_moved = 3;
  engine.live_requests = 7;
  engine.waiting_requests = 2;
  EngineSnapshot::Type type;
  type.model = "mt";
  type.name = "lstm";
  for (const std::uint32_t rows : {1U, 2U, 3U, 64U, 5000U}) type.batches.add(rows);
  type.ready = 5;
  type.running = 1;
  engine.types.push_back(type);
  engine.pools.push_back({"mt", 4096, 40, 20});
  return engine;
}

TEST(Monitor, CountsRequestsByOutcome) {
  Monitor monitor("1.2.3");
  monitor.requests().answered({std::nullopt, 250000, 750000, 1000000});
  monitor.requests().answered({ErrorCode::kOverloaded});
  monitor.requests().answered({ErrorCode::kOverloaded});
  monitor.requests().set_in_flight(3, 4096);
  const std::string page = monitor.metrics_page().body;
  EXPECT_THAT(page, HasSubstr("volvox_build_info{version=\"1.2.3\"} 1"));
  EXPECT_THAT(page, HasSubstr("volvox_requests_total{outcome=\"ok\"} 1"));
  EXPECT_THAT(page, HasSubstr("volvox_requests_total{outcome=\"overloaded\"} 2"));
  EXPECT_THAT(page, HasSubstr("volvox_requests_total{outcome=\"internal\"} 0"));
  EXPECT_THAT(page, HasSubstr("volvox_request_total_seconds_count 1"));  // refusals have no times
  EXPECT_THAT(page, HasSubstr("volvox_request_queue_seconds_sum 0.25"));
  EXPECT_THAT(page, HasSubstr("volvox_requests_in_flight 3"));
  EXPECT_THAT(page, HasSubstr("volvox_request_bytes_in_flight 4096"));
}

// Also times that are a bucket's upper end, or longer than all.
TEST(Monitor, CountsManyAtOnceAsOneAfterTheOther) {
  std::vector<RequestSample> samples;
  for (const std::uint64_t us : {0, 10, 11, 25, 50, 999, 1000, 1001, 120'000'000, 120'000'001}) {
    samples.push_back({std::nullopt, us, us / 2, 2 * us});
    samples.push_back({ErrorCode::kOverloaded, us, us, us});
  }
  const auto requests_of = [](const Monitor& monitor) {
    std::istringstream page(monitor.metrics_page().body);
    std::string lines;
    for (std::string line; std::getline(page, line);)
      if (line.starts_with("volvox_request")) lines += line + "\n";
    return lines;
  };
  for (const std::size_t count : {std::size_t{3}, samples.size()}) {
    Monitor together("1"), single("1");
    const std::span<const RequestSample> some = std::span(samples).first(count);
    together.requests().answered(some);
    for (const RequestSample& sample : some) single.requests().answered(sample);
    EXPECT_EQ(requests_of(together), requests_of(single));
    EXPECT_THAT(requests_of(together),
                HasSubstr("volvox_requests_total{outcome=\"overloaded\"} " + std::to_string(count / 2)));
  }
}

TEST(Monitor, ShowsTheRequestsOfEachModel) {
  Monitor monitor("1");
  EXPECT_THAT(monitor.metrics_page().body, testing::Not(HasSubstr("volvox_model_requests_total")));
  ModelRequests lstm{"lstm/1", {}};
  lstm.by(Door::kHttp).outcomes[0] = 7;
  lstm.by(Door::kHttp).outcomes[outcome_of(ErrorCode::kInternal)] = 2;
  lstm.by(Door::kHttp).queue.counts = {1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  lstm.by(Door::kHttp).queue.sum_us = 500'000;
  monitor.watch_models(
      [&] {
        return std::vector{lstm, ModelRequests{"tree/3", {}}};
      },
      {Door::kClients, Door::kHttp});
  const std::string page = monitor.metrics_page().body;
  const std::string requests = "volvox_model_requests_total{door=";
  EXPECT_THAT(page, HasSubstr(requests + "\"http\",model=\"lstm/1\",outcome=\"ok\"} 7\n"));
  EXPECT_THAT(page, HasSubstr(requests + "\"http\",model=\"lstm/1\",outcome=\"internal\"} 2\n"));
  EXPECT_THAT(page, HasSubstr(requests + "\"zeromq\",model=\"tree/3\",outcome=\"ok\"} 0\n"));
  EXPECT_THAT(page, HasSubstr(requests + "\"zeromq\",model=\"tree/3\",outcome=\"cancelled\"} 0\n"));
  EXPECT_THAT(page, testing::Not(HasSubstr("door=\"cluster\""))) << "no such door is open";
  const std::string of = "{door=\"http\",model=\"lstm/1\"";
  EXPECT_THAT(page, HasSubstr("volvox_model_queue_seconds_count" + of + "} 7\n"));
  EXPECT_THAT(page, HasSubstr("volvox_model_queue_seconds_sum" + of + "} 0.5\n"));
  EXPECT_THAT(page, HasSubstr("volvox_model_queue_seconds_bucket" + of + ",le=\"0.0001\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("volvox_model_queue_seconds_bucket" + of + ",le=\"0.0003\"} 5\n"));
  EXPECT_THAT(page, HasSubstr("volvox_model_queue_seconds_bucket" + of + ",le=\"60\"} 5\n"));
  EXPECT_THAT(page, HasSubstr("volvox_model_queue_seconds_bucket" + of + ",le=\"+Inf\"} 7\n"));
  EXPECT_THAT(page, HasSubstr("volvox_model_request_seconds_count{door=\"zeromq\",model=\"tree/3\"} 0\n"));
}

TEST(Monitor, HasAPageOfAMegabyteAtMostForManyModels) {
  Monitor monitor("1");
  EngineSnapshot engine = sample_engine();
  engine.types.clear();
  engine.pools.clear();
  std::vector<ModelRequests> models;
  for (int i = 0; i < 64; ++i) {
    const std::string model = "model" + std::to_string(i) + "/1";
    for (const char* name : {"encoder", "decoder"}) {
      EngineSnapshot::Type type = sample_engine().types.at(0);
      type.model = model;
      type.name = name;
      for (int n = 0; n < 100'000; ++n) type.batches.add(static_cast<std::uint32_t>(n % 5000));
      engine.types.push_back(type);
    }
    engine.pools.push_back({model, 4096, 40, 20});
    engine.models.push_back({model, 1, 2, 3.25});
    ModelRequests& requests = models.emplace_back(ModelRequests{model, {}});
    for (const Door door : {Door::kClients, Door::kHttp}) {
      for (std::uint64_t& count : requests.by(door).outcomes) count = 12'345;
      for (Durations* durations :
           {&requests.by(door).queue, &requests.by(door).compute, &requests.by(door).total})
        durations->counts.fill(12'345);
    }
  }
  monitor.watch_engines([&] { return std::vector{engine}; }, 1);
  monitor.watch_models([&] { return models; }, {Door::kClients, Door::kHttp});
  const std::size_t bytes = monitor.metrics_page().body.size();
  EXPECT_GT(bytes, std::size_t{512} << 10);
  EXPECT_LE(bytes, std::size_t{1} << 20);
}

TEST(Monitor, ShowsWhatTheProcessUses) {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : process_metrics("1.0"))
    values[family.name] = family.metric.at(0).gauge.value + family.metric.at(0).counter.value;
  EXPECT_GT(values["process_cpu_seconds_total"], 0);
  EXPECT_GT(values["process_resident_memory_bytes"], 1 << 20);
  EXPECT_GE(values["process_virtual_memory_bytes"], values["process_resident_memory_bytes"]);
  EXPECT_GT(values["process_open_fds"], 0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  constexpr double kYear = 365.0 * 86400;
  EXPECT_NEAR(values["process_start_time_seconds"], std::chrono::duration<double>(now).count(), kYear);
}

TEST(Monitor, AsksWhoeverServes) {
  Monitor monitor("1");
  std::string first, second, ready;
  monitor.watch_health([&] { return first; });
  monitor.watch_health([&] { return second; });
  monitor.watch_readiness([&] { return ready; });
  monitor.set_readiness(Readiness::kReady);
  EXPECT_EQ(monitor.health_page().status, 200);
  EXPECT_EQ(monitor.readiness_page().status, 200);
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr("volvox_healthy 1\n"));
  second = "the link does not answer";
  EXPECT_EQ(monitor.health_page().status, 503);
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr("volvox_healthy 0\n"));
  EXPECT_THAT(monitor.health_page().body, HasSubstr("the link does not answer"));
  EXPECT_EQ(monitor.readiness_page().status, 200);
  ready = "no node is there";
  EXPECT_EQ(monitor.readiness_page().status, 503);
  EXPECT_THAT(monitor.readiness_page().body, HasSubstr("no node is there"));
  monitor.set_readiness(Readiness::kDraining);
  EXPECT_THAT(monitor.readiness_page().body, HasSubstr("draining"));
}

TEST(Monitor, CountsFromManyThreads) {
  Monitor monitor("1");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) monitor.requests().answered({std::nullopt, 1, 1, 2});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr("volvox_requests_total{outcome=\"ok\"} 4000"));
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr("volvox_request_total_seconds_count 4000"));
}

TEST(Monitor, ShowsTheEnginesAsOfNow) {
  Monitor monitor("1");
  std::uint32_t live = 7;
  monitor.watch_engines(
      [&] {
        EngineSnapshot engine = sample_engine();
        engine.live_requests = live;
        return std::vector<EngineSnapshot>{engine};
      },
      1);
  const std::string page = monitor.metrics_page().body;
  EXPECT_THAT(page, HasSubstr("volvox_cells_total{device=\"cpu\"} 1000"));
  EXPECT_THAT(page, HasSubstr("volvox_rows_padding_total{device=\"cpu\"} 10"));
  EXPECT_THAT(page, HasSubstr("volvox_live_requests{device=\"cpu\"} 7"));
  EXPECT_THAT(page, HasSubstr("volvox_ready_nodes{device=\"cpu\",model=\"mt\",type=\"lstm\"} 5"));
  EXPECT_THAT(page, HasSubstr("volvox_slots_reserved{device=\"cpu\",pool=\"mt\"} 40"));
  EXPECT_THAT(page, HasSubstr("volvox_cpu_seconds_total{where=\"outside_kernels\"} "));
  live = 8;
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr("volvox_live_requests{device=\"cpu\"} 8"));
}

TEST(Monitor, CpuTimeInsideKernelsIsKeptWhileNobodyAnswers) {
  Monitor monitor("1");
  std::vector<EngineSnapshot> engines{sample_engine()};
  monitor.watch_engines([&] { return engines; }, 1);
  const std::string inside = "volvox_cpu_seconds_total{where=\"inside_kernels\"} ";
  engines.front().cpu_kernel_seconds = 5;
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr(inside + "5\n"));
  engines.clear();
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr(inside + "5\n"));
  engines.push_back(sample_engine());
  engines.front().cpu_kernel_seconds = 1;
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr(inside + "6\n")) << "of another scheduler";
}

TEST(Monitor, BatchSizesAreAHistogram) {
  Monitor monitor("1");
  monitor.watch_engines([] { return std::vector<EngineSnapshot>{sample_engine()}; }, 1);
  const std::string page = monitor.metrics_page().body;
  const std::string of = "{device=\"cpu\",model=\"mt\",type=\"lstm\"";
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_count" + of + "} 5"));
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_sum" + of + "} 5070"));
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_bucket" + of + ",le=\"1\"} 1"));
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_bucket" + of + ",le=\"2\"} 2"));
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_bucket" + of + ",le=\"4\"} 3"));
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_bucket" + of + ",le=\"4096\"} 4"));
  EXPECT_THAT(page, HasSubstr("volvox_batch_rows_bucket" + of + ",le=\"+Inf\"} 5"));
}

TEST(Monitor, HealthAsksTheEngines) {
  Monitor monitor("1");
  EXPECT_EQ(monitor.health_page().status, 200);
  bool answers = true;
  monitor.watch_engines(
      [&] { return answers ? std::vector<EngineSnapshot>{sample_engine()} : std::vector<EngineSnapshot>{}; },
      1);
  EXPECT_EQ(monitor.health_page().status, 200);
  answers = false;
  EXPECT_EQ(monitor.health_page().status, 503);
}

TEST(Monitor, ReadinessFollowsTheProcess) {
  Monitor monitor("1");
  EXPECT_EQ(monitor.readiness_page().status, 503);
  monitor.set_readiness(Readiness::kReady);
  EXPECT_EQ(monitor.readiness_page().status, 200);
  monitor.set_readiness(Readiness::kDraining);
  EXPECT_EQ(monitor.readiness_page().status, 503);
  EXPECT_EQ(monitor.readiness_page().body, "draining\n");
}

}  // namespace
}  // namespace volvox
