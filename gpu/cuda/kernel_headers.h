#pragma once

#include <span>

namespace volvox::gpu {

// What kernels that are compiled at load may include, as this program was built with it.
struct KernelHeader {
  const char* name;  // as it is included
  const char* text;
};
std::span<const KernelHeader> kernel_headers();

}  // namespace volvox::gpu
