#include "monitoring/metrics/model_metrics.h"

#include "monitoring/metrics/single_metrics.h"

namespace volvox {

ModelMetrics::ModelMetrics(prometheus::Registry& registry)
    : models_(prometheus::BuildGauge()
                  .Name("volvox_models")
                  .Help("Model versions on the device, of limits.max_models: serving, and draining, which "
                        "only running requests still need.")
                  .Register(registry)),
      loads_(prometheus::BuildCounter()
                 .Name("volvox_model_loads_total")
                 .Help("Model versions put on the device (ok), and those that could not be (failed).")
                 .Register(registry)),
      serving_(models_.Add({{"state", "serving"}})),
      draining_(models_.Add({{"state", "draining"}})),
      state_bytes_(single_gauge(registry, "volvox_model_state_bytes",
                                "Bytes of the state memory of all models, of device.state_mib.")),
      good_(loads_.Add({{"outcome", "ok"}})),
      bad_(loads_.Add({{"outcome", "failed"}})) {}

void ModelMetrics::set(std::size_t serving, std::size_t draining, std::uint64_t state_bytes) {
  serving_.Set(static_cast<double>(serving));
  draining_.Set(static_cast<double>(draining));
  state_bytes_.Set(static_cast<double>(state_bytes));
}

void ModelMetrics::loaded(bool success) {
  (success ? good_ : bad_).Increment();
}

}  // namespace volvox
