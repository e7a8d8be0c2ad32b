# ThreadSanitizer with clang where clang has it: clang can leave CAF's headers alone (tests/tsan.ignore). With g++ each
# message between actors costs dozens of reports that are looked up only to be suppressed: a hundred times slower.
find_program(_clang clang)
find_program(_clangxx clang++)
if(_clang AND _clangxx)
  execute_process(COMMAND "${_clangxx}" -print-file-name=libclang_rt.tsan-x86_64.a OUTPUT_VARIABLE _runtime
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(EXISTS "${_runtime}")
    set(CMAKE_C_COMPILER "${_clang}")
    set(CMAKE_CXX_COMPILER "${_clangxx}")
  endif()
endif()
