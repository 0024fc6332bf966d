# The CMake package of tilecc, installed as <prefix>/lib/cmake/tilecc/tilecc-config.cmake.
#
#   find_package(tilecc REQUIRED)
#   tile_add_library(kernels gemm.tile softmax.tile [ARCHITECTURES 80 90a] [PREFIX name_] [NO_CPU] [OPTIONS -O3 ...])
#   target_link_libraries(app PRIVATE kernels)
#
# makes a static library of the kernels; who links it finds the headers (gemm.h, softmax.h) and the run time.  Without
# ARCHITECTURES the variable CMAKE_CUDA_ARCHITECTURES counts, and without that the defaults of tilecc.

# Else Ninja looks for another name of the object in the depfile, and compiles anew each time.  A function keeps the
# policies of the place where it is written.
if(POLICY CMP0116)
  cmake_policy(SET CMP0116 NEW)
endif()

get_filename_component(_tilecc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET tilecc::tilecc)
  add_executable(tilecc::tilecc IMPORTED)
  set_target_properties(tilecc::tilecc PROPERTIES IMPORTED_LOCATION "${_tilecc_prefix}/bin/tilecc")
  find_package(Threads REQUIRED)
  add_library(tilecc::rt STATIC IMPORTED)
  set_target_properties(tilecc::rt PROPERTIES
    IMPORTED_LOCATION "${_tilecc_prefix}/lib/libtilert.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_tilecc_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
endif()

# "80;90a-real" to "-arch=cpu,sm_80,sm_90a"; words that are no numbers (all, native, OFF) are left to the default.
function(_tilecc_architectures result no_cpu)
  set(names "")
  if(NOT no_cpu)
    list(APPEND names cpu)
  endif()
  set(found FALSE)
  foreach(item IN LISTS ARGN)
    if(item MATCHES "^(sm_)?([0-9]+[af]?)(-real|-virtual)?$")
      list(APPEND names "sm_${CMAKE_MATCH_2}")
      set(found TRUE)
    elseif(item STREQUAL "cpu" AND NOT "cpu" IN_LIST names)
      list(APPEND names cpu)
      set(found TRUE)
    endif()
  endforeach()
  if(found)
    list(REMOVE_DUPLICATES names)
    string(JOIN "," names ${names})
    set(${result} "-arch=${names}" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

function(tile_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 tile "NO_CPU" "PREFIX" "ARCHITECTURES;OPTIONS")
  if(NOT tile_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tile_add_library(${name}): no .tile source is named")
  endif()
  if(NOT tile_ARCHITECTURES AND DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(tile_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
  endif()
  _tilecc_architectures(architectures "${tile_NO_CPU}" ${tile_ARCHITECTURES})
  set(options ${architectures} ${tile_OPTIONS})
  if(tile_PREFIX)
    list(APPEND options "--prefix=${tile_PREFIX}")
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND options "--host-target=aarch64-linux")
  else()
    list(APPEND options "--host-target=x86_64-linux")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.tile")
  file(MAKE_DIRECTORY "${folder}")
  set(objects "")
  set(headers "")
  foreach(source IN LISTS tile_UNPARSED_ARGUMENTS)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(stem "${source}" NAME_WE)
    set(object "${folder}/${stem}.o")
    set(depends DEPENDS "${path}" tilecc::tilecc)
    if(CMAKE_GENERATOR MATCHES "Ninja|Makefiles" AND NOT CMAKE_VERSION VERSION_LESS 3.20)
      list(APPEND depends DEPFILE "${folder}/${stem}.d")
    endif()
    add_custom_command(
      OUTPUT "${object}"
      BYPRODUCTS "${folder}/${stem}.h" # keeps its time where nothing in it changed
      COMMAND tilecc::tilecc ${options} -MD -MF "${folder}/${stem}.d" -MQ "${object}" -o "${object}" "${path}"
      ${depends}
      COMMENT "Compiling tile kernels ${source}"
      VERBATIM)
    list(APPEND objects "${object}")
    list(APPEND headers "${folder}/${stem}.h")
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${name} STATIC ${objects} ${headers})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES) # a project may be of C++ alone
  if("C" IN_LIST languages)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  else()
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_include_directories(${name} PUBLIC "${folder}")
  target_link_libraries(${name} PUBLIC tilecc::rt)
endfunction()
