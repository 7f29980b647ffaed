# NCCL and NVSHMEM, which single programs need and no toolkit has to have: as NCCL_HOME or NVSHMEM_HOME says, beside the
# toolkit, from the system's packages, or from a Python wheel. Programs ask for them by an option in nvcc.flags, such as
# -lnccl. harness/tools/libraries.cpp looks in the same places for lab.
include_guard(GLOBAL)

# Leaves LAB_<NAME>_INCLUDE_DIR, and LAB_<option>_FILE for each option: -lnccl is nccl. Arguments behind the header are
# pairs of an option and the file, whose version the Python wheels keep in its name.
function(lab_find_optional name header)
  string(TOLOWER ${name} folder)
  file(GLOB packages /usr/include/${folder}_* /usr/lib/*-linux-gnu/${folder}/*) # of NVIDIA for Debian and Ubuntu
  set(wheels "")
  foreach(python IN ITEMS $ENV{VIRTUAL_ENV} $ENV{CONDA_PREFIX} $ENV{HOME}/.local /usr/local /usr)
    file(GLOB found ${python}/lib/python3*/site-packages/nvidia/${folder}
      ${python}/lib/python3*/dist-packages/nvidia/${folder})
    list(APPEND wheels ${found})
  endforeach()
  cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH bin)
  file(GLOB sdk /opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/${folder})
  set(places $ENV{${name}_HOME} ${bin}/.. ${packages} ${wheels} ${sdk})
  find_path(LAB_${name}_INCLUDE_DIR ${header} HINTS ${places} PATH_SUFFIXES include)
  while(ARGN)
    list(POP_FRONT ARGN option file)
    find_file(LAB_${option}_FILE NAMES ${file} ${file}.2 ${file}.3 HINTS ${places} PATHS /usr/lib /usr/lib64 /usr/local/lib
      PATH_SUFFIXES lib lib64 ${CMAKE_LIBRARY_ARCHITECTURE})
  endwhile()
endfunction()

# The library that an option of nvcc.flags asks for, in `out`; "" if it is one that every toolkit has.
function(lab_library_of out option)
  set(${out} "" PARENT_SCOPE)
  if(option STREQUAL -lnccl)
    set(${out} NCCL PARENT_SCOPE)
  elseif(option MATCHES "^-lnvshmem_")
    set(${out} NVSHMEM PARENT_SCOPE)
  endif()
endfunction()

# Which libraries the nvcc.flags in this folder ask for that are not here.
function(lab_missing_libraries out folder)
  set(missing "")
  if(EXISTS ${folder}/nvcc.flags)
    file(STRINGS ${folder}/nvcc.flags flags REGEX "^-l")
    foreach(flag IN LISTS flags)
      lab_library_of(library ${flag})
      string(REPLACE "-l" "" option ${flag})
      if(library AND NOT (LAB_${library}_INCLUDE_DIR AND LAB_${option}_FILE))
        list(APPEND missing ${library})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES missing)
  endif()
  set(${out} ${missing} PARENT_SCOPE)
endfunction()

# Links a target with what these options, which are here, ask for.
function(lab_link_libraries target)
  foreach(flag IN LISTS ARGN)
    lab_library_of(library ${flag})
    string(REPLACE "-l" "" option ${flag})
    if(library)
      target_include_directories(${target} SYSTEM PRIVATE ${LAB_${library}_INCLUDE_DIR})
      target_link_libraries(${target} PRIVATE ${LAB_${option}_FILE})
    else()
      target_link_libraries(${target} PRIVATE ${option})
    endif()
  endforeach()
endfunction()

macro(lab_optional_libraries)
  lab_find_optional(NCCL nccl.h nccl libnccl.so)
  lab_find_optional(NVSHMEM nvshmem.h nvshmem_host libnvshmem_host.so
    nvshmem_device libnvshmem_device.a)
endmacro()
