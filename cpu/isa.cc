#include "cpu/isa.h"

#include "cpu/kernel/kernels.h"

namespace volvox::cpu {
namespace {

bool processor_has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return __builtin_cpu_supports("avx512f") != 0;
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#endif
  return isa == Isa::portable || isa == Isa::auto_;
}

const Kernels* built(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return avx512_kernels();
    case Isa::avx2:
      return avx2_kernels();
    case Isa::auto_:
    case Isa::portable:
      break;
  }
  return portable_kernels();
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::auto_:
      return "auto";
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::portable:
      return "portable";
  }
  return "portable";
}

std::optional<Isa> isa_from(std::string_view name) {
  for (Isa isa : {Isa::auto_, Isa::avx512, Isa::avx2, Isa::portable}) {
    if (to_string(isa) == name) return isa;
  }
  return std::nullopt;
}

bool supported(Isa isa) {
  return processor_has(isa) && built(isa) != nullptr;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> found;
  for (Isa isa : {Isa::avx512, Isa::avx2, Isa::portable}) {
    if (supported(isa)) found.push_back(isa);
  }
  return found;
}

Isa best_isa() {
  return supported_isas().front();
}

const Kernels* kernels_for(Isa isa) {
  return built(isa == Isa::auto_ ? best_isa() : isa);
}

}  // namespace volvox::cpu
