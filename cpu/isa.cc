#include "cpu/isa.h"

#include "cpu/kernel/kernels.h"

namespace volvox::cpu {
namespace {

bool processor_has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return __builtin_cpu_supports("avx512f") != 0;
  if (isa == Isa::kAvx2) return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#endif
  return isa == Isa::kPortable || isa == Isa::kAuto;
}

const Kernels* built(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return avx512_kernels();
    case Isa::kAvx2:
      return avx2_kernels();
    case Isa::kAuto:
    case Isa::kPortable:
      break;
  }
  return portable_kernels();
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kAuto:
      return "auto";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kPortable:
      return "portable";
  }
  return "portable";
}

std::optional<Isa> isa_from(std::string_view name) {
  for (Isa isa : {Isa::kAuto, Isa::kAvx512, Isa::kAvx2, Isa::kPortable}) {
    if (to_string(isa) == name) return isa;
  }
  return std::nullopt;
}

bool supported(Isa isa) {
  return processor_has(isa) && built(isa) != nullptr;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> found;
  for (Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kPortable}) {
    if (supported(isa)) found.push_back(isa);
  }
  return found;
}

Isa best_isa() {
  return supported_isas().front();
}

const Kernels* kernels_for(Isa isa) {
  return built(isa == Isa::kAuto ? best_isa() : isa);
}

}  // namespace volvox::cpu
