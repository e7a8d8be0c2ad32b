# Every third-party library, by the name of its target. All are Debian packages (deploy/install-deps.sh);
# libzmq is built from one, with a patch (deploy/build-libzmq.sh).
find_package(Threads REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(VOLVOX_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
find_package(OneDNN QUIET)
# Both are optional: `volvox import` (import/onnx).
find_package(Protobuf QUIET)
if(Protobuf_FOUND)
  find_package(ONNX CONFIG QUIET)
endif()

if(VOLVOX_TESTS)
  find_package(GTest REQUIRED)
endif()
if(NOT VOLVOX_ENGINE_ONLY)
  find_package(OpenSSL 3.0 REQUIRED)
  find_package(CAF 0.17 REQUIRED COMPONENTS core io openssl)
  find_package(VolvoxZeroMQ REQUIRED)
  find_package(CapnProto CONFIG REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  find_package(spdlog CONFIG REQUIRED)
  set(CURSES_NEED_WIDE TRUE)
  find_package(Curses REQUIRED)
endif()

include(VolvoxCuda)
