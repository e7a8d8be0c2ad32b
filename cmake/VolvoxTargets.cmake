# volvox_library(NAME SOURCES a.cc … DEPENDS volvox::base … PRIVATE_DEPENDS …)
# One static library per folder, exported as volvox::NAME. A folder without sources becomes an interface library.
function(volvox_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(ARG_SOURCES)
    add_library(volvox_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(volvox_${name} PUBLIC volvox_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  else()
    add_library(volvox_${name} INTERFACE)
    target_link_libraries(volvox_${name} INTERFACE volvox_options ${ARG_DEPENDS})
  endif()
  add_library(volvox::${name} ALIAS volvox_${name})
endfunction()

# What a test's process, and the processes that it starts, hear of the sanitizers. Sets OUT to a list of
# ENVIRONMENT_MODIFICATION entries.
function(volvox_sanitizer_environment out)
  set(${out}
      "ASAN_OPTIONS=set:detect_stack_use_after_return=1:strict_string_checks=1"
      "UBSAN_OPTIONS=set:print_stacktrace=1"
      "TSAN_OPTIONS=set:halt_on_error=1:second_deadlock_stack=1:print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp"
      PARENT_SCOPE)
endfunction()

# volvox_test(NAME KIND unit|system|long SOURCES … DEPENDS … [TIMEOUT seconds])
# Registers a GoogleTest program with ctest under the label KIND. Each run leaves test-results/NAME.xml in the build
# folder, from which tests/run.sh counts the cases. Programs that start processes (system, long) run one at a time.
function(volvox_test name)
  cmake_parse_arguments(ARG "" "KIND;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
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
  target_link_libraries(${name} PRIVATE volvox_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} "--gtest_output=xml:${PROJECT_BINARY_DIR}/test-results/${name}.xml")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_KIND}" TIMEOUT ${ARG_TIMEOUT})
  if(NOT ARG_KIND STREQUAL "unit")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
  volvox_sanitizer_environment(environment)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "${environment}")
endfunction()
