#pragma once

#include <cstddef>
#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace volvox {

// What is counted of the models that come and go. Any thread.
class ModelMetrics {
 public:
  explicit ModelMetrics(prometheus::Registry& registry);

  // Versions that requests find, those that only running requests still need, and the bytes that the states
  // of both take of device.state_mib.
  void set(std::size_t serving, std::size_t draining, std::uint64_t state_bytes);
  // A version was put on the device, or could not be.
  void loaded(bool success);

 private:
  prometheus::Family<prometheus::Gauge>& models_;
  prometheus::Family<prometheus::Counter>& loads_;
  prometheus::Gauge &serving_, &draining_, &state_bytes_;
  prometheus::Counter &good_, &bad_;
};

}  // namespace volvox
