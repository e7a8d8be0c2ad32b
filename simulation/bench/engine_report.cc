#include "simulation/bench/engine_report.h"

namespace volvox::bench {

EngineReport::EngineReport(const EngineOptions& options, const EnginePlan& plan, const EngineSetup& setup)
    : options_(options),
      device_(options.device),
      model_(setup.model().model->name),
      mean_length_(setup.mean_length()),
      load_seconds_(setup.load_seconds()),
      folded_bytes_(setup.model().model->folded_bytes) {
  for (const Load& load : plan.loads) {
    for (const Configuration& configuration : plan.configurations) {
      rows_.emplace_back();
      rows_.back().configuration = configuration;
      rows_.back().load = load;
    }
  }
}

void EngineReport::add(const EngineResult& r) {
  Row& row = rows_[next_];
  next_ = (next_ + 1) % rows_.size();
  if (!row.load.closed()) row.offered.add(r.offered_rps);
  row.throughput.add(r.throughput_rps);
  row.p50.add(r.p50_ms);
  row.p90.add(r.p90_ms);
  row.p99.add(r.p99_ms);
  row.max.add(r.max_ms);
  if (row.load.kind == Load::Kind::kCalls) row.late.add(r.late_fraction);
  row.cpu.add(r.cpu_share);
  row.engine_us.add(r.host.engine_us);
  row.waiting_us.add(r.host.waiting_us);
  row.making_us.add(r.host.making_us);
  row.others_us.add(r.host.others_us);
  row.mean_batch.add(r.mean_batch);
  row.useful.add(r.useful_gflops);
  row.executed.add(r.executed_gflops);
  row.moved.add(r.rows_moved_ratio);
  row.host_ns.add(r.host_ns_per_cell);
  row.seconds.add(r.seconds);
  row.completed += r.completed;
  row.failed += r.failed;
  row.refused += r.refused;
  row.unfinished += r.unfinished;
  row.mismatched += r.mismatched;
}

std::uint64_t EngineReport::mismatched() const {
  std::uint64_t all = 0;
  for (const Row& row : rows_) all += row.mismatched;
  return all;
}

nlohmann::json EngineReport::json(const Row& row) const {
  nlohmann::json width = nullptr, window = nullptr;
  if (row.configuration.bucket_width != 0) width = row.configuration.bucket_width;
  if (row.configuration.window != 0) window = row.configuration.window;
  return {
      {"policy", row.configuration.policy},
      {"max_batch", row.configuration.max_batch},
      {"bucket_width", width},
      {"window", window},
      {"load", row.load.text()},
      {"offered_rps", row.offered.json()},
      {"throughput_rps", row.throughput.json()},
      {"latency_ms",
       {{"p50", row.p50.json()}, {"p90", row.p90.json()}, {"p99", row.p99.json()}, {"max", row.max.json()}}},
      {"late_fraction", row.late.json()},
      {"cpu_share", row.cpu.json()},
      {"host_us_per_request",
       {{"engine", row.engine_us.json()},
        {"waiting", row.waiting_us.json()},
        {"making", row.making_us.json()},
        {"others", row.others_us.json()}}},
      {"mean_batch", row.mean_batch.json()},
      {"useful_gflops", row.useful.json()},
      {"executed_gflops", row.executed.json()},
      {"rows_moved_ratio", row.moved.json()},
      {"host_ns_per_cell", row.host_ns.json()},
      {"seconds", row.seconds.json()},
      {"completed", row.completed},
      {"failed", row.failed},
      {"refused", row.refused},
      {"unfinished", row.unfinished},
      {"mismatched", row.mismatched}};
}

nlohmann::json EngineReport::json() const {
  nlohmann::json report = {{"device", device_},
                           {"model", model_},
                           {"isa", options_.isa},
                           {"threads", options_.threads},
                           {"workers", options_.workers},
                           {"eager", options_.eager},
                           {"fold", options_.fold},
                           {"folded_bytes", folded_bytes_},
                           {"load_seconds", load_seconds_},
                           {"mean_length", mean_length_},
                           {"repeat", options_.repeat},
                           {"seed", options_.seed},
                           {"fma_peak_gflops", nullptr},
                           {"runs", nlohmann::json::array()}};
  if (!peak_.empty()) {
    report["fma_peak_gflops"] = peak_.median();
    report["fma_peak_spread"] = {peak_.least(), peak_.most()};
  }
  for (const Row& row : rows_) report["runs"].push_back(json(row));
  return report;
}

std::string EngineReport::text() const {
  Table table({"policy", "load", "offered/s", "done/s", "p50 ms", "p90 ms", "p99 ms", "late", "batch",
               "useful GF/s", "executed GF/s", "of peak", "moved", "host ns/cell", "host us", "CPU"});
  for (const Row& row : rows_) {
    const std::string share = peak_.empty() ? "-" : fixed(row.useful.median() / peak_.median(), 3);
    std::string parts;  // the engine's work, its waiting, making requests, others
    for (const Repeated* part : {&row.engine_us, &row.waiting_us, &row.making_us, &row.others_us})
      parts += (parts.empty() ? "" : " + ") + fixed(part->median(), 2);
    table.add({row.configuration.text(), row.load.text(), row.offered.text(1), row.throughput.text(1),
               row.p50.text(1), row.p90.text(1), row.p99.text(1), row.late.empty() ? "-" : row.late.text(5),
               row.mean_batch.text(1), row.useful.text(1), row.executed.text(1), share, row.moved.text(4),
               row.host_ns.text(0), parts, row.cpu.text(2)});
  }
  std::string out = table.text();
  if (!peak_.empty()) out += "FMA peak: " + peak_.text(1) + " GFLOP/s\n";
  out += "Loaded in " + fixed(load_seconds_, 2) + " s";
  if (folded_bytes_ > 0)
    out += ", with " + fixed(static_cast<double>(folded_bytes_) / (1 << 20), 1) + " MiB of folded tables";
  out += '\n';
  std::uint64_t odd = 0;
  for (const Row& row : rows_) odd += row.failed + row.refused + row.unfinished;
  if (odd > 0) out += "Not answered (failed, refused, unfinished): " + std::to_string(odd) + "\n";
  if (mismatched() > 0) out += "WRONG: " + std::to_string(mismatched()) + " answers changed between runs\n";
  return out;
}

}  // namespace volvox::bench
