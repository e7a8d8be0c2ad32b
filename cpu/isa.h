#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace volvox::cpu {

// Which instructions the kernels use. Every choice gives the same bits; they differ in speed only.
enum class Isa : std::uint8_t { kAuto, kAvx512, kAvx2, kPortable };

// "auto", "avx512", "avx2", "portable": the names of the configuration.
std::string_view to_string(Isa isa);
std::optional<Isa> isa_from(std::string_view name);

// Whether this build and this processor can run it. kAuto and kPortable: always.
bool supported(Isa isa);
// The fastest one that is supported: never kAuto.
Isa best_isa();
// All that are supported, fastest first, without kAuto.
std::vector<Isa> supported_isas();

}  // namespace volvox::cpu
