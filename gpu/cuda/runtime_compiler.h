#pragma once

#include <map>
#include <mutex>
#include <string>

#include <nvrtc.h>

#include "gpu/driver/choice_cache.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// NVRTC: CUDA C++ to a device's own code, in this process. Like cuBLASLt it is opened where a GPU is.
class RuntimeCompiler {
 public:
  static Result<const RuntimeCompiler*> open();

  // The code of stages for a compute capability ("90"). `said`: what ptxas tells of each kernel, if asked
  // for. INTERNAL: it does not compile, with the compiler's words. Any thread.
  Result<std::string> compile(const StageSource& source, const std::string& capability,
                              std::string* said = nullptr) const;
  // The same, from `kept` (null: nothing is kept) or from this process's last ones, where it was compiled
  // before.
  Result<std::string> code_of(const StageSource& source, const std::string& capability,
                              const ChoiceCache* kept) const;
  // Everything that the code depends on: source, headers, options, version (13.0; its updates are not told
  // apart).
  std::string key(const StageSource& source, const std::string& capability) const;

 private:
  static constexpr std::size_t kMostRecent = 64;

  Status check(nvrtcResult result, const char* doing) const;
  std::string log_of(nvrtcProgram program) const;

  decltype(&nvrtcVersion) version_ = nullptr;
  decltype(&nvrtcGetErrorString) error_string_ = nullptr;
  decltype(&nvrtcCreateProgram) create_ = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_ = nullptr;
  decltype(&nvrtcCompileProgram) compile_ = nullptr;
  decltype(&nvrtcGetCUBINSize) code_size_ = nullptr;
  decltype(&nvrtcGetCUBIN) code_ = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size_ = nullptr;
  decltype(&nvrtcGetProgramLog) log_ = nullptr;
  mutable std::mutex mutex_;                           // guards what follows
  mutable std::map<std::string, std::string> recent_;  // by key: equal GPUs of one process load equal models
};

}  // namespace volvox::gpu
