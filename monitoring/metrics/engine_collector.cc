#include "monitoring/metrics/engine_collector.h"

#include <array>
#include <string>
#include <utility>

#include "base/cpu_time.h"
#include "monitoring/metrics/metric_families.h"

namespace volvox {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using volvox::put;  // beside the one below

void put(MetricFamily& family, const Labels& labels, const BatchSizes& sizes) {
  std::array<double, kBatchBuckets> bounds{};
  for (std::size_t i = 0; i < kBatchBuckets; ++i) bounds[i] = static_cast<double>(std::uint64_t{1} << i);
  put_histogram(family, labels, bounds, sizes.tasks, static_cast<double>(sizes.rows));
}

using Engines = std::vector<EngineSnapshot>;

template <class Field>
void per_engine(Families& families, const Engines& engines, const char* name, const char* help,
                MetricType type, Field field) {
  MetricFamily& family = families.add(name, help, type);
  for (const auto& engine : engines)
    put(family, {{"device", engine.device}}, static_cast<double>(engine.*field));
}

template <class Field>
void per_type(Families& families, const Engines& engines, const char* name, const char* help, MetricType type,
              Field field) {
  MetricFamily& family = families.add(name, help, type);
  for (const auto& engine : engines) {
    for (const auto& cell : engine.types) {
      const Labels labels{{"device", engine.device}, {"model", cell.model}, {"type", cell.name}};
      put(family, labels, field(cell));
    }
  }
}

template <class Field>
void per_model(Families& families, const Engines& engines, const char* name, const char* help,
               MetricType type, Field field) {
  MetricFamily& family = families.add(name, help, type);
  for (const auto& engine : engines) {
    for (const auto& model : engine.models) {
      put(family, {{"device", engine.device}, {"model", model.name}}, static_cast<double>(model.*field));
    }
  }
}

template <class Field>
void per_pool(Families& families, const Engines& engines, const char* name, const char* help, Field field) {
  MetricFamily& family = families.add(name, help, MetricType::Gauge);
  for (const auto& engine : engines) {
    for (const auto& pool : engine.pools) {
      put(family, {{"device", engine.device}, {"pool", pool.name}}, static_cast<double>(pool.*field));
    }
  }
}

void add_counters(Families& families, const Engines& engines) {
  constexpr auto kCounter = MetricType::Counter;
  using Snapshot = EngineSnapshot;
  per_engine(families, engines, "volvox_cells_total", "Cells run for requests.", kCounter, &Snapshot::cells);
  per_engine(families, engines, "volvox_tasks_total", "Batched tasks run.", kCounter, &Snapshot::tasks);
  per_engine(families, engines, "volvox_rows_executed_total", "Rows of tasks, padding included.", kCounter,
             &Snapshot::rows_executed);
  per_engine(families, engines, "volvox_rows_padding_total", "Rows that computed nothing anybody wanted.",
             kCounter, &Snapshot::rows_padding);
  per_engine(families, engines, "volvox_rows_moved_total",
             "Rows that changed their place in a running batch.", kCounter, &Snapshot::rows_moved);
  per_engine(families, engines, "volvox_engine_cancelled_total",
             "Requests that were cancelled on the device.", kCounter, &Snapshot::cancelled);
  per_engine(families, engines, "volvox_engine_failed_total", "Requests that failed on the device.", kCounter,
             &Snapshot::failed);
  per_engine(families, engines, "volvox_engine_expired_total",
             "Requests whose deadline passed on the device.", kCounter, &Snapshot::expired);
  per_engine(families, engines, "volvox_kernel_seconds_total",
             "Wall time inside kernels, summed over queues.", kCounter, &Snapshot::kernel_seconds);
  per_model(families, engines, "volvox_model_device_seconds_total",
            "Device time of the model's tasks, by their measured cost: what model[].weight shares.", kCounter,
            &Snapshot::Model::device_seconds);
}

void add_gauges(Families& families, const Engines& engines) {
  constexpr auto kGauge = MetricType::Gauge;
  using Snapshot = EngineSnapshot;
  using Type = EngineSnapshot::Type;
  using Pool = EngineSnapshot::Pool;
  per_engine(families, engines, "volvox_live_requests", "Requests that hold state on the device.", kGauge,
             &Snapshot::live_requests);
  per_engine(families, engines, "volvox_waiting_requests",
             "Requests that wait to be let in: for state memory, or for their client's turn.", kGauge,
             &Snapshot::waiting_requests);
  per_engine(families, engines, "volvox_waiting_clients",
             "Clients whose requests wait to be let in, once for each model and priority class. Many waiting "
             "requests of one client are its own backlog; of many clients, too little device.",
             kGauge, &Snapshot::waiting_clients);
  per_model(families, engines, "volvox_model_live_requests", "Requests of the model in the scheduler.",
            kGauge, &Snapshot::Model::live);
  per_model(families, engines, "volvox_model_waiting_requests",
            "Requests of the model of which nothing runs yet, bounded by model[].max_waiting.", kGauge,
            &Snapshot::Model::waiting);
  per_engine(families, engines, "volvox_stuck_queues", "Queues whose task does not end, which get no more.",
             kGauge, &Snapshot::stuck_queues);
  per_type(families, engines, "volvox_ready_nodes", "Cells that could run now.", kGauge,
           [](const Type& type) { return static_cast<double>(type.ready); });
  per_type(families, engines, "volvox_running_tasks", "Tasks in flight.", kGauge,
           [](const Type& type) { return static_cast<double>(type.running); });
  per_pool(families, engines, "volvox_slots", "Rows of state memory.", &Pool::slots);
  per_pool(families, engines, "volvox_slots_reserved", "Rows promised to live requests.", &Pool::reserved);
  per_pool(families, engines, "volvox_slots_used", "Rows that hold a state.", &Pool::used);
}

void add_batches(Families& families, const Engines& engines) {
  using Type = EngineSnapshot::Type;
  per_type(families, engines, "volvox_batch_rows",
           "Rows of a task that belong to requests; sum / count is the mean batch of the cell type.",
           MetricType::Histogram, [](const Type& type) -> const BatchSizes& { return type.batches; });
  per_type(families, engines, "volvox_type_padding_rows_total", "Padding rows of the type's tasks.",
           MetricType::Counter, [](const Type& type) { return static_cast<double>(type.padding); });
}

double process_cpu_seconds() {
  return static_cast<double>(cpu_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9;
}

void add_cpu(Families& families, const CpuShares& cpu) {
  MetricFamily& family =
      families.add("volvox_cpu_seconds_total",
                   "CPU time of the process, inside_kernels and outside_kernels; the second, divided by "
                   "cells, is what everything around the kernels costs.",
                   MetricType::Counter);
  put(family, {{"where", "inside_kernels"}}, cpu.inside());
  put(family, {{"where", "outside_kernels"}}, cpu.outside());
}

}  // namespace

EngineCollector::EngineCollector(EngineSource source) : source_(std::move(source)) {}

std::vector<MetricFamily> EngineCollector::Collect() const {
  const std::lock_guard lock(mutex_);
  const Engines engines = source_();
  cpu_.update(engines, process_cpu_seconds());
  Families families;
  add_counters(families, engines);
  add_batches(families, engines);
  add_gauges(families, engines);
  add_cpu(families, cpu_);
  return families.take();
}

}  // namespace volvox
