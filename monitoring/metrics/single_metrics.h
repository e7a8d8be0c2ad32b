#pragma once

#include <cstdint>

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

// Brings a counter up to a count that is kept elsewhere, of which it has `before`.
inline void follow(prometheus::Counter& counter, std::uint64_t before, std::uint64_t now) {
  if (now > before) counter.Increment(static_cast<double>(now - before));
}

}  // namespace volvox
