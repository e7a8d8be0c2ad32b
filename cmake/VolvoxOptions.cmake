# Compiler settings that every Volvox target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(VOLVOX_CCACHE ccache)
if(VOLVOX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${VOLVOX_CCACHE}")
endif()

add_library(volvox_options INTERFACE)
target_include_directories(volvox_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
# -ffp-contract=off: a fused multiply-add happens where the source says so and nowhere else.
target_compile_options(volvox_options INTERFACE -Wall -Wextra -Wpedantic -ffp-contract=off)
if(VOLVOX_WERROR)
  target_compile_options(volvox_options INTERFACE -Werror)
endif()
if(VOLVOX_SANITIZE)
  target_compile_options(volvox_options INTERFACE -fsanitize=${VOLVOX_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(volvox_options INTERFACE -fsanitize=${VOLVOX_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ warns of variants and optionals that it no longer sees through once they are instrumented.
    target_compile_options(volvox_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  if(VOLVOX_SANITIZE MATCHES "undefined")
    # CAF's headers bind references through null in unevaluated paths.
    target_compile_options(volvox_options INTERFACE -fno-sanitize=null)
  endif()
  if(VOLVOX_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(volvox_options INTERFACE
                           "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/tsan.ignore")
  endif()
endif()
if(VOLVOX_FUZZ)
  # Every object counts its branches: libFuzzer keeps the inputs that lead somewhere new.
  target_compile_options(volvox_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
