# What nearly every source reads, and what costs most of the time in which a source is compiled.
set(VOLVOX_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional>
    <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>)

# How many sources are compiled as one: more take less time in all, and longer when one of them changes.
set(VOLVOX_UNITY_SOURCES 12)

# What the headers of a folder ask of the compiler again and again (templates of CAF, GoogleTest, CLI11), it is asked once for
# several sources.
function(volvox_compile_together name)
  if(VOLVOX_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${VOLVOX_UNITY_SOURCES})
  endif()
endfunction()

# volvox_library(NAME [TOGETHER] SOURCES a.cc … DEPENDS volvox::base … PRIVATE_DEPENDS … PRECOMPILE <header> …)
# One static library per folder, exported as volvox::NAME. A folder without sources becomes an interface library.
# TOGETHER: its sources are compiled several at once.
function(volvox_library name)
  cmake_parse_arguments(ARG "TOGETHER" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS;PRECOMPILE" ${ARGN})
  if(ARG_SOURCES)
    add_library(volvox_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(volvox_${name} PUBLIC volvox_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  else()
    add_library(volvox_${name} INTERFACE)
    target_link_libraries(volvox_${name} INTERFACE volvox_options ${ARG_DEPENDS})
  endif()
  add_library(volvox::${name} ALIAS volvox_${name})
  if(ARG_TOGETHER)
    volvox_compile_together(volvox_${name})
  endif()
  if(VOLVOX_PRECOMPILE AND ARG_PRECOMPILE)
    target_precompile_headers(volvox_${name} PRIVATE ${VOLVOX_STANDARD_HEADERS} ${ARG_PRECOMPILE})
  endif()
endfunction()

# tree_lstm → TreeLstm
function(volvox_camel_case out name)
  set(camel "")
  string(REPLACE "_" ";" words "${name}")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 initial)
    string(TOUPPER "${initial}" initial)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(APPEND camel "${initial}${rest}")
  endforeach()
  set(${out} "${camel}" PARENT_SCOPE)
endfunction()

# Writes FILE with the table that FUNCTION returns: pointers to k<Name>SUFFIX of type TYPE, one for each NAME ("tree_lstm": kTreeLstm…).
# There may be none.
# NAMESPACE: volvox, if none is given.
function(volvox_table file)
  cmake_parse_arguments(ARG "" "HEADER;NAMESPACE;FUNCTION;TYPE;SUFFIX" "NAMES" ${ARGN})
  if(NOT ARG_NAMESPACE)
    set(ARG_NAMESPACE volvox)
  endif()
  set(declarations "")
  set(entries "")
  set(body "return {};")
  foreach(name IN LISTS ARG_NAMES)
    volvox_camel_case(camel "${name}")
    string(APPEND declarations "extern const ${ARG_TYPE} k${camel}${ARG_SUFFIX};\n")
    string(APPEND entries "&k${camel}${ARG_SUFFIX}, ")
  endforeach()
  if(entries)
    set(body "static constexpr const ${ARG_TYPE}* kAll[] = {${entries}};\n  return kAll;")
  endif()
  file(CONFIGURE OUTPUT "${file}" CONTENT [[#include "@ARG_HEADER@"

namespace @ARG_NAMESPACE@ {

@declarations@
std::span<const @ARG_TYPE@* const> @ARG_FUNCTION@() {
  @body@
}

}  // namespace @ARG_NAMESPACE@
]] @ONLY)
endfunction()

# Tests are not fast, they are many: optimising them takes longer than running them.
function(volvox_test_options name)
  target_link_libraries(${name} PRIVATE volvox_options GTest::gmock GTest::gtest_main)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${name} PRIVATE -O1)
  endif()
endfunction()

# volvox_precompiled_for_tests(NAME headers …): a target whose precompiled headers tests share. It is a program because those of
# programs and of libraries differ.
function(volvox_precompiled_for_tests name)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc" CONTENT "")
  add_executable(${name} EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
  volvox_test_options(${name})
  target_precompile_headers(${name} PRIVATE ${VOLVOX_STANDARD_HEADERS} <gmock/gmock.h> <gtest/gtest.h> ${ARGN})
endfunction()

# What a test's process, and the processes that it starts, hear of the sanitizers. Sets OUT to a list of
# ENVIRONMENT_MODIFICATION entries.
function(volvox_sanitizer_environment out)
  set(${out}
      "ASAN_OPTIONS=set:detect_stack_use_after_return=1:strict_string_checks=1"
      "LSAN_OPTIONS=set:print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp"
      "UBSAN_OPTIONS=set:print_stacktrace=1"
      "TSAN_OPTIONS=set:halt_on_error=1:second_deadlock_stack=1:print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp"
      PARENT_SCOPE)
endfunction()

# volvox_test(NAME KIND unit|system|long SOURCES … DEPENDS … [TIMEOUT seconds] [PRECOMPILED target])
# Registers a GoogleTest program with ctest under the label KIND. Each run leaves test-results/NAME.xml in the build
# folder, from which tests/run.sh counts the cases. Programs that start processes (system, long) run one at a time.
function(volvox_test name)
  cmake_parse_arguments(ARG "" "KIND;TIMEOUT;PRECOMPILED" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_KIND MATCHES "^(unit|system|long)$")
    message(FATAL_ERROR "volvox_test(${name}): KIND is unit, system or long, not '${ARG_KIND}'")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
    if(ARG_KIND STREQUAL "long")
      set(ARG_TIMEOUT 900)
    endif()
  endif()
  if(VOLVOX_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  volvox_test_options(${name})
  volvox_compile_together(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED volvox_test_headers)
  endif()
  if(VOLVOX_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${ARG_PRECOMPILED})
  endif()
  add_test(NAME ${name} COMMAND ${name} "--gtest_output=xml:${PROJECT_BINARY_DIR}/test-results/${name}.xml")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_KIND}" TIMEOUT ${ARG_TIMEOUT})
  if(NOT ARG_KIND STREQUAL "unit")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
  volvox_sanitizer_environment(environment)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "${environment}")
endfunction()
