# Debian's libzmq with deploy/patches/libzmq.patch, as deploy/build-libzmq.sh leaves it. Defines VolvoxZeroMQ::zmq.
# There is no falling back to the system's own: in that one, two connections end a server.
set(VOLVOX_LIBZMQ_ROOT "/usr/local/lib/volvox-libzmq" CACHE PATH "Where deploy/build-libzmq.sh installs")

# The folder is named by what the library was made from, so that an older or newer patch is never taken for this one.
file(SHA256 "${PROJECT_SOURCE_DIR}/deploy/patches/libzmq.patch" _recipe)
string(SUBSTRING "${_recipe}" 0 16 _recipe)
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS deploy/patches/libzmq.patch)
set(_libzmq "${VOLVOX_LIBZMQ_ROOT}/${_recipe}")
if(NOT EXISTS "${_libzmq}/debian-version")
  message(FATAL_ERROR "Volvox's libzmq is not in ${_libzmq}: run deploy/install-deps.sh (or deploy/build-libzmq.sh "
                      "alone), which builds it from Debian's source with deploy/patches/libzmq.patch")
endif()
file(STRINGS "${_libzmq}/debian-version" _version)

# Debian's own, where it is installed, shows that there is a newer one: perhaps with a hole mended.
find_program(VOLVOX_DPKG_QUERY dpkg-query)
find_program(VOLVOX_DPKG dpkg)
if(VOLVOX_DPKG_QUERY AND VOLVOX_DPKG)
  execute_process(COMMAND "${VOLVOX_DPKG_QUERY}" --show "--showformat=\${source:Version}" libzmq5
                  OUTPUT_VARIABLE _debian RESULT_VARIABLE _failed ERROR_QUIET)
  if(NOT _failed AND _debian)
    execute_process(COMMAND "${VOLVOX_DPKG}" --compare-versions "${_debian}" gt "${_version}" RESULT_VARIABLE _same)
    if(_same EQUAL 0)
      message(FATAL_ERROR "Debian's libzmq has moved on to ${_debian}; Volvox's in ${_libzmq} was made from "
                          "${_version}: run deploy/install-deps.sh, which builds it anew or says what to do")
    endif()
  endif()
endif()

find_package(Threads REQUIRED)
find_library(VOLVOX_SODIUM_LIBRARY sodium)
if(NOT VOLVOX_SODIUM_LIBRARY)
  message(FATAL_ERROR "libsodium (libsodium-dev) is missing: run deploy/install-deps.sh")
endif()
if(NOT TARGET VolvoxZeroMQ::zmq)
  add_library(VolvoxZeroMQ::zmq STATIC IMPORTED GLOBAL)
  set_target_properties(VolvoxZeroMQ::zmq PROPERTIES IMPORTED_LOCATION "${_libzmq}/lib/libzmq.a"
                                                     IMPORTED_LINK_INTERFACE_LANGUAGES CXX
                                                     INTERFACE_INCLUDE_DIRECTORIES "${_libzmq}/include")
  target_link_libraries(VolvoxZeroMQ::zmq INTERFACE "${VOLVOX_SODIUM_LIBRARY}" Threads::Threads)
endif()
set(VolvoxZeroMQ_FOUND TRUE)
