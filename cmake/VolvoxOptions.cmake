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
# -fno-semantic-interposition: nobody replaces a function of ours at run time, so that those of a file may be inlined into each other
# although their code can lie anywhere.
target_compile_options(volvox_options INTERFACE -Wall -Wextra -Wpedantic -ffp-contract=off -fno-semantic-interposition)
if(VOLVOX_WERROR)
  target_compile_options(volvox_options INTERFACE -Werror)
endif()
# A release meets strangers: what goes wrong in it ends the process instead of going on with it. Sanitizers see more, and
# debug builds are not optimised, without which _FORTIFY_SOURCE does nothing but warn.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT VOLVOX_SANITIZE)
  set(guards -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND guards -fcf-protection)
  endif()
  target_compile_options(volvox_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${guards}>")
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  target_link_options(volvox_options INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR VOLVOX_SANITIZE)
  # Checks of each access cost where every nanosecond is counted, and there no byte of a stranger is an index.
  # And CAF's headers look into an empty pointer when an actor is made of a function without arguments, as tests do.
  set(unchecked "$<IN_LIST:$<TARGET_PROPERTY:NAME>,volvox_batching;volvox_cpu;actors_test;volvox_unchecked_test_headers;volvox_echo>")
  target_compile_definitions(volvox_options INTERFACE
                             "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:${unchecked}>>:_GLIBCXX_ASSERTIONS>")
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
