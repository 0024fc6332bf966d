# The CMake package of tilecc, installed as <prefix>/lib/cmake/tilecc/tilecc-config.cmake.
#
#   find_package(tilecc REQUIRED)
#   tile_add_library(kernels gemm.tile softmax.tile [ARCHITECTURES 80 90a] [PREFIX name_] [NO_CPU]
#     [CXX] [CXX_NAMESPACE name] [SHARED_HEADER tile_common.h] [PYTHON] [TUNING gemm.tile=gemm.tuning ...] [OPTIONS -O3 ...])
#   target_link_libraries(app PRIVATE kernels)
#
# makes a static library of the kernels; who links it finds the headers (gemm.h, softmax.h) and the run time.  A static
# library that links it is exported together with it, and its package calls find_dependency(tilecc).  CXX makes
# headers of C++17, too (gemm.hpp), with their kernels in namespace tile or CXX_NAMESPACE; headers include what
# they share from SHARED_HEADER.  PYTHON makes
# Python modules, too (gemm.py with libgemm.so), in the folder that the target's property TILE_PYTHON names.  Without
# ARCHITECTURES the variable CMAKE_CUDA_ARCHITECTURES counts, and without that, or where it is OFF, the defaults of
# tilecc.  80 and 80-real are machine code, 80-virtual is PTX, native is the GPUs of this machine, all is what tilecc has.
# Who compiles for the other processor of x86-64 and AArch64 gets a run time for that.

# Else Ninja looks for another name of the object in the depfile, and compiles anew each time.  A function keeps the
# policies of the place where it is written.
if(POLICY CMP0116)
  cmake_policy(SET CMP0116 NEW)
endif()

get_filename_component(_tilecc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# What --host-target calls a processor; "" if tilecc makes no code for it.
function(_tilecc_host result processor)
  if(processor MATCHES "^(aarch64|arm64|ARM64)$")
    set(${result} "aarch64-linux" PARENT_SCOPE)
  elseif(processor MATCHES "^(x86_64|amd64|AMD64)$")
    set(${result} "x86_64-linux" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

function(_tilecc_run_time result)
  set(${result} "${_tilecc_prefix}/lib/libtilert.a" PARENT_SCOPE)
  _tilecc_host(here "${CMAKE_HOST_SYSTEM_PROCESSOR}")
  _tilecc_host(there "${CMAKE_SYSTEM_PROCESSOR}")
  if(there STREQUAL "" OR there STREQUAL here)
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/tilecc-${there}")
  file(MAKE_DIRECTORY "${folder}")
  file(REMOVE "${folder}/libtilert.a")
  execute_process(COMMAND "${_tilecc_prefix}/bin/tilecc" --emit-runtime "--host-target=${there}" -o "${folder}/tile_rt.o"
    RESULT_VARIABLE made ERROR_VARIABLE said)
  if(made EQUAL 0)
    execute_process(COMMAND "${CMAKE_AR}" rcs "${folder}/libtilert.a" "${folder}/tile_rt.o"
      RESULT_VARIABLE made ERROR_VARIABLE said)
  endif()
  if(NOT made EQUAL 0)
    message(FATAL_ERROR "tilecc: cannot make the run time for ${there}: ${made} ${said}")
  endif()
  set(${result} "${folder}/libtilert.a" PARENT_SCOPE)
endfunction()

if(NOT TARGET tilecc::tilecc)
  add_executable(tilecc::tilecc IMPORTED)
  set_target_properties(tilecc::tilecc PROPERTIES IMPORTED_LOCATION "${_tilecc_prefix}/bin/tilecc")
  find_package(Threads REQUIRED)
  _tilecc_run_time(_tilecc_library)
  add_library(tilecc::rt STATIC IMPORTED)
  set_target_properties(tilecc::rt PROPERTIES
    IMPORTED_LOCATION "${_tilecc_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${_tilecc_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
endif()

# The GPUs that tilecc makes code for: sm_75;sm_80;...
function(_tilecc_known result)
  execute_process(COMMAND "${_tilecc_prefix}/bin/tilecc" --print-targets OUTPUT_VARIABLE table)
  string(REGEX MATCHALL "\nsm_[0-9]+[af]?" names "${table}") # a row begins with its own
  string(REPLACE "\n" "" names "${names}")
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# The GPUs of this machine, each by the code that can use all of it: sm_90a of 9.0.
function(_tilecc_native result)
  _tilecc_known(known)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    RESULT_VARIABLE failed OUTPUT_VARIABLE capabilities ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
  if(failed OR NOT capabilities)
    message(FATAL_ERROR "tilecc: the architecture is native, and nvidia-smi tells of no GPU here; name architectures, as 80 or 90a")
  endif()
  set(names "")
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" number "${capability}")
    if("sm_${number}a" IN_LIST known)
      list(APPEND names "sm_${number}a")
    else()
      list(APPEND names "sm_${number}")
    endif()
  endforeach()
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# "80;90a-real;75-virtual" to "-arch=cpu,sm_80,sm_90a,compute_75"; nothing, or OFF, is left to the default.
function(_tilecc_architectures result no_cpu)
  set(names "")
  foreach(item IN LISTS ARGN)
    if(item MATCHES "^(sm_)?([0-9]+[af]?)(-real)?$")
      list(APPEND names "sm_${CMAKE_MATCH_2}")
    elseif(item MATCHES "^(compute_)?([0-9]+[af]?)(-virtual)?$")
      list(APPEND names "compute_${CMAKE_MATCH_2}")
    elseif(item STREQUAL "native")
      _tilecc_native(here)
      list(APPEND names ${here})
    elseif(item STREQUAL "all")
      _tilecc_known(known)
      list(APPEND names ${known})
    elseif(item STREQUAL "cpu")
      list(APPEND names cpu)
    elseif(item STREQUAL "all-major")
      message(FATAL_ERROR "tilecc: code for the first GPU of a generation need not run on its others, so there is no all-major; "
        "name architectures, as 80 or 90a, in tile_add_library(... ARCHITECTURES), or all")
    elseif(NOT item MATCHES "^([Oo][Ff][Ff]|[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee]|0)$")
      message(FATAL_ERROR "tilecc: there is no architecture '${item}'; there are numbers, as 80, 90a or 80-virtual, native and all")
    endif()
  endforeach()
  if(NOT names)
    if(no_cpu)
      message(FATAL_ERROR "tile_add_library: NO_CPU needs ARCHITECTURES")
    endif()
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  if(NOT no_cpu)
    list(INSERT names 0 cpu)
  endif()
  list(REMOVE_DUPLICATES names)
  string(JOIN "," names ${names})
  set(${result} "-arch=${names}" PARENT_SCOPE)
endfunction()

# Refuses what is no source: a word of tile_add_library that is misspelt, and a file that is not there and that nothing makes.
function(_tilecc_check_sources name)
  if(NOT ARGN)
    message(FATAL_ERROR "tile_add_library(${name}): no .tile source is named")
  endif()
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(stem "${source}" NAME_WE)
    if(DEFINED source_of_${stem})
      message(FATAL_ERROR "tile_add_library(${name}): '${source_of_${stem}}' and '${source}' would both make ${stem}.o and "
        "${stem}.h; rename one, or give each a library of its own")
    endif()
    set(source_of_${stem} "${source}")
    get_source_file_property(made "${source}" GENERATED)
    string(FIND "${path}" "${CMAKE_BINARY_DIR}/" place) # 0: a rule that is written later may make it there
    if(NOT source MATCHES "\\.(tile|tir)$")
      message(FATAL_ERROR "tile_add_library(${name}): '${source}' is no source (.tile or .tir), and the words are "
        "ARCHITECTURES, PREFIX, NO_CPU, CXX, CXX_NAMESPACE, SHARED_HEADER, PYTHON, TUNING and OPTIONS")
    elseif(NOT made AND NOT place EQUAL 0 AND NOT EXISTS "${path}")
      message(FATAL_ERROR "tile_add_library(${name}): there is no file ${path}")
    endif()
  endforeach()
endfunction()

# Each word of TUNING is SOURCE=FILE, of a source that the library has.
function(_tilecc_check_tuning name sources)
  foreach(word IN LISTS ARGN)
    string(REGEX REPLACE "=.*" "" source "${word}")
    if(NOT word MATCHES "^[^=]+=.+$" OR NOT source IN_LIST sources)
      message(FATAL_ERROR "tile_add_library(${name}): TUNING takes a source of the library with a file for its kernels, "
        "as gemm.tile=gemm.tuning, not '${word}'")
    endif()
  endforeach()
endfunction()

# The files of TUNING for a source, which begin at the source folder.
function(_tilecc_tuning result source)
  set(files "")
  foreach(word IN LISTS ARGN)
    if(word MATCHES "^([^=]+)=(.+)$" AND CMAKE_MATCH_1 STREQUAL source)
      get_filename_component(path "${CMAKE_MATCH_2}" ABSOLUTE)
      list(APPEND files "${path}")
    endif()
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

function(tile_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 tile "NO_CPU;CXX;PYTHON" "PREFIX;CXX_NAMESPACE;SHARED_HEADER"
    "ARCHITECTURES;TUNING;OPTIONS")
  _tilecc_check_sources("${name}" ${tile_UNPARSED_ARGUMENTS})
  _tilecc_check_tuning("${name}" "${tile_UNPARSED_ARGUMENTS}" ${tile_TUNING})
  if(NOT tile_ARCHITECTURES AND DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(tile_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
  endif()
  _tilecc_architectures(architectures "${tile_NO_CPU}" ${tile_ARCHITECTURES})
  set(options ${architectures})
  foreach(option IN LISTS tile_OPTIONS)
    if(option MATCHES "^-fc[+][+]=(.*)$")
      set(tile_CXX_NAMESPACE "${CMAKE_MATCH_1}")
    elseif(option STREQUAL "-fc++")
      set(tile_CXX TRUE)
    elseif(option MATCHES "^--shared-header=(.*)$")
      set(tile_SHARED_HEADER "${CMAKE_MATCH_1}")
    elseif(option MATCHES "-fc[+][+]|--shared-header")
      message(FATAL_ERROR "tile_add_library(${name}): what is written must be known here: CXX, CXX_NAMESPACE and SHARED_HEADER "
        "for '${option}'")
    elseif(option MATCHES "^(-I|--tuning=)([^/$].*)$")
      list(APPEND options "${CMAKE_MATCH_1}${CMAKE_CURRENT_SOURCE_DIR}/${CMAKE_MATCH_2}")
    else()
      list(APPEND options "${option}")
    endif()
  endforeach()
  if(tile_PREFIX)
    list(APPEND options "--prefix=${tile_PREFIX}")
  endif()
  _tilecc_host(host "${CMAKE_SYSTEM_PROCESSOR}")
  if(host STREQUAL "")
    message(FATAL_ERROR "tile_add_library(${name}): tilecc makes code for x86_64 and aarch64, not for ${CMAKE_SYSTEM_PROCESSOR}")
  endif()
  list(APPEND options "--host-target=${host}")
  set(faces "")
  set(shared "")
  if(tile_CXX_NAMESPACE)
    set(faces "-fc++=${tile_CXX_NAMESPACE}")
  elseif(tile_CXX)
    set(faces "-fc++")
  endif()
  if(tile_SHARED_HEADER)
    list(APPEND faces "--shared-header=${tile_SHARED_HEADER}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.tile")
  if(tile_SHARED_HEADER)
    set(shared "${folder}/${tile_SHARED_HEADER}") # each source writes it; the rule of the first has it
    if(tile_CXX OR tile_CXX_NAMESPACE)
      string(REGEX REPLACE "h$" "hpp" cxx_shared "${shared}")
      list(APPEND shared "${cxx_shared}")
    endif()
  endif()
  file(MAKE_DIRECTORY "${folder}")
  set(objects "")
  set(headers "")
  set(modules "")
  set(pairs "")
  set(_tilecc_linker "${CMAKE_C_COMPILER}")
  if(NOT _tilecc_linker)
    set(_tilecc_linker "${CMAKE_CXX_COMPILER}")
  endif()
  foreach(source IN LISTS tile_UNPARSED_ARGUMENTS)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(stem "${source}" NAME_WE)
    set(object "${folder}/${stem}.o")
    set(header "${folder}/${stem}.h")
    if(tile_CXX OR tile_CXX_NAMESPACE)
      list(APPEND header "${folder}/${stem}.hpp")
    endif()
    list(APPEND header ${shared})
    set(shared "")
    foreach(file IN LISTS header)
      list(APPEND pairs "${object}" "${file}")
    endforeach()
    _tilecc_tuning(tuning "${source}" ${tile_TUNING})
    set(depends DEPENDS "${path}" ${tuning} tilecc::tilecc)
    list(TRANSFORM tuning PREPEND "--tuning=")
    if(CMAKE_GENERATOR MATCHES "Ninja|Makefiles" AND NOT CMAKE_VERSION VERSION_LESS 3.20)
      list(APPEND depends DEPFILE "${folder}/${stem}.d")
    endif()
    add_custom_command(
      OUTPUT "${object}"
      BYPRODUCTS ${header} # keeps its time where nothing in it changed
      COMMAND tilecc::tilecc "${options}" ${tuning} ${faces} -MD -MF "${folder}/${stem}.d" -MQ "${object}" -o "${object}" "${path}"
      ${depends}
      COMMENT "Compiling tile kernels ${source}"
      COMMAND_EXPAND_LISTS # an expression of a generator in OPTIONS gives any number of them
      VERBATIM)
    list(APPEND objects "${object}")
    list(APPEND headers ${header})
    if(tile_PYTHON)
      set(module "${folder}/python/${stem}.py")
      file(MAKE_DIRECTORY "${folder}/python")
      add_custom_command(
        OUTPUT "${module}" "${folder}/python/lib${stem}.so"
        COMMAND "${CMAKE_COMMAND}" -E env "CC=${_tilecc_linker}" $<TARGET_FILE:tilecc::tilecc> "${options}" ${tuning} --emit=python -o "${module}" "${path}"
        DEPENDS "${object}" tilecc::tilecc # whose dependencies are the same, and whose code is in the cache then
        COMMENT "Making a Python module of ${source}"
        COMMAND_EXPAND_LISTS
        VERBATIM)
      list(APPEND modules "${module}")
    endif()
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(${name} STATIC ${objects} ${headers})
  string(REGEX REPLACE "\\.o(;|$)" ".d\\1" written "${objects}")
  set_target_properties(${name} PROPERTIES ADDITIONAL_CLEAN_FILES "${written}")
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES) # a project may be of C++ alone
  if("C" IN_LIST languages)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  else()
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  if(CMAKE_GENERATOR MATCHES "Makefiles") # which look for the object alone: where a header is gone, it is made anew
    set(script "while test $# -gt 0; do test -e \"$2\" || rm -f \"$1\"; shift 2; done")
    add_custom_target(${name}_tile_headers COMMAND sh -c "${script}" sh ${pairs} VERBATIM)
    add_dependencies(${name} ${name}_tile_headers)
  endif()
  if(tile_PYTHON)
    add_custom_target(${name}_python ALL DEPENDS ${modules})
    add_dependencies(${name}_python ${name})
    set_target_properties(${name} PROPERTIES TILE_PYTHON "${folder}/python")
  endif()
  # Warnings are for the sources of a project, and the folder is not where an installed package has its headers.
  target_include_directories(${name} SYSTEM INTERFACE "$<BUILD_INTERFACE:${folder}>")
  target_link_libraries(${name} PUBLIC tilecc::rt)
endfunction()
