#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace volvox {

// Metrics without labels: families of one. They live as long as the registry.
inline prometheus::Gauge& single_gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

inline prometheus::Counter& single_counter(prometheus::Registry& registry, const char* name,
                                           const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace volvox
