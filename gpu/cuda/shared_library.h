#pragma once

#include <initializer_list>

#include <dlfcn.h>

namespace volvox::gpu {

// A library that is opened where it is needed, by the first of these names that there is; null: by none.
// It stays open.
inline void* open_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace volvox::gpu
