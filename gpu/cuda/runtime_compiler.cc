#include "gpu/cuda/runtime_compiler.h"

#include <optional>
#include <utility>
#include <vector>

#include "gpu/cuda/kernel_headers.h"
#include "gpu/cuda/shared_library.h"

namespace volvox::gpu {
namespace {

// The little of C++'s library that kernels name: NVRTC has none of its own.
constexpr KernelHeader kStandard[] = {
    {"bit", ""},
    {"cmath", ""},
    {"cstring", ""},
    {"cstddef", "#pragma once\nnamespace std { using size_t = decltype(sizeof(0)); }\n"},
    {"cstdint",
     "#pragma once\n"
     "namespace std {\n"
     "using int8_t = signed char;\nusing int16_t = short;\nusing int32_t = int;\nusing int64_t = long;\n"
     "using uint8_t = unsigned char;\nusing uint16_t = unsigned short;\nusing uint32_t = unsigned;\n"
     "using uint64_t = unsigned long;\nusing uintptr_t = unsigned long;\n"
     "}\n"}};

constexpr const char* kBegin = "#include \"gpu/cuda/stage.cuh\"\n\nnamespace volvox::gpu {\n";
constexpr const char* kEnd = "}  // namespace volvox::gpu\n";
// Products and sums are not contracted: interpreted programs do not, and both are to give the same bits.
constexpr const char* kOptions[] = {"--std=c++20", "--fmad=false", "--device-as-default-execution-space"};
constexpr const char* kVerbose = "--ptxas-options=--verbose";

template <class Use>
void each_header(const Use& use) {
  for (const KernelHeader& header : kStandard) use(header);
  for (const KernelHeader& header : kernel_headers()) use(header);
}

}  // namespace

Result<const RuntimeCompiler*> RuntimeCompiler::open() {
  static RuntimeCompiler made;
  static const bool found = [] {
    void* library = open_library({"libnvrtc.so.13", VOLVOX_CUDA_LIBRARIES "/libnvrtc.so.13"});
    return library != nullptr && find(library, "nvrtcVersion", made.version_) &&
           find(library, "nvrtcGetErrorString", made.error_string_) &&
           find(library, "nvrtcCreateProgram", made.create_) &&
           find(library, "nvrtcDestroyProgram", made.destroy_) &&
           find(library, "nvrtcCompileProgram", made.compile_) &&
           find(library, "nvrtcGetCUBINSize", made.code_size_) &&
           find(library, "nvrtcGetCUBIN", made.code_) &&
           find(library, "nvrtcGetProgramLogSize", made.log_size_) &&
           find(library, "nvrtcGetProgramLog", made.log_);
  }();
  if (found) return &made;
  return fail(
      ErrorCode::kUnavailable,
      "libnvrtc.so.13 cannot be opened; install CUDA 13's NVRTC, or put its folder into LD_LIBRARY_PATH");
}

Status RuntimeCompiler::check(nvrtcResult result, const char* doing) const {
  if (result == NVRTC_SUCCESS) return {};
  return fail(ErrorCode::kInternal, std::string("NVRTC: ") + error_string_(result) + " while " + doing);
}

std::string RuntimeCompiler::log_of(nvrtcProgram program) const {
  std::size_t size = 0;
  if (log_size_(program, &size) != NVRTC_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (log_(program, text.data()) != NVRTC_SUCCESS) return {};
  text.resize(size - 1);
  return text;
}

Result<std::string> RuntimeCompiler::compile(const StageSource& source, const std::string& capability,
                                             std::string* said) const {
  std::vector<const char*> names, texts;
  each_header([&](const KernelHeader& header) {
    names.push_back(header.name);
    texts.push_back(header.text);
  });
  nvrtcProgram program = nullptr;
  if (Status ok = check(create_(&program, (kBegin + source.text + kEnd).c_str(), "stages.cu",
                                static_cast<int>(names.size()), texts.data(), names.data()),
                        "reading stages");
      !ok) {
    return tl::unexpected(ok.error());
  }
  const std::string architecture = "--gpu-architecture=sm_" + capability;
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(architecture.c_str());
  if (said != nullptr) options.push_back(kVerbose);
  Status ok = check(compile_(program, static_cast<int>(options.size()), options.data()), "compiling stages");
  if (!ok) ok = fail(ErrorCode::kInternal, ok.error().message + ":\n" + log_of(program));
  if (said != nullptr) *said = log_of(program);
  std::string code;
  std::size_t size = 0;
  if (ok) ok = check(code_size_(program, &size), "asking for code");
  if (ok) {
    code.resize(size);
    ok = check(code_(program, code.data()), "asking for code");
  }
  (void)destroy_(&program);
  if (!ok) return tl::unexpected(ok.error());
  return code;
}

Result<std::string> RuntimeCompiler::code_of(const StageSource& source, const std::string& capability,
                                             const ChoiceCache* kept) const {
  const std::string key = this->key(source, capability);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = recent_.find(key); known != recent_.end()) return known->second;
  }
  std::optional<std::string> known = kept != nullptr ? kept->find_code(key) : std::nullopt;
  if (!known) {
    auto code = compile(source, capability);
    if (!code) return code;
    if (kept != nullptr) kept->keep_code(key, *code);
    known = std::move(*code);
  }
  const std::lock_guard lock(mutex_);
  if (recent_.size() >= kMostRecent) recent_.clear();
  return recent_[key] = std::move(*known);
}

std::string RuntimeCompiler::key(const StageSource& source, const std::string& capability) const {
  int major = 0, minor = 0;
  (void)version_(&major, &minor);
  std::string key = "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + ", sm_" + capability;
  for (const char* option : kOptions) key.append(" ").append(option);
  key.append("\n");
  each_header([&](const KernelHeader& header) { key.append(header.name).append("\n").append(header.text); });
  return key.append(kBegin).append(source.text).append(kEnd);
}

}  // namespace volvox::gpu
