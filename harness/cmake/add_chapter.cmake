# add_chapter(NAME): the CUDA programs of a chapter's folder and its doctest test, under one target of that name.
#
#   cmake --build build --target ch05_streams && ctest --test-dir build -L ch05
#
# Programs are found by folder: every .cu of the chapter and of the folders of its cases. Flags are the course's own,
# from common/nvcc.flags, and those of the case, from nvcc.flags beside its programs; `lab` reads the same two files.
include_guard(GLOBAL)

set(LAB_HAS_CUDA OFF)
if(LAB_CUDA)
  find_program(LAB_NVCC nvcc PATHS /usr/local/cuda/bin)
  if(LAB_NVCC)
    set(CMAKE_CUDA_COMPILER ${LAB_NVCC} CACHE FILEPATH "nvcc")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # The GPU at hand, or one virtual architecture that every later GPU compiles for itself at start.
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(NOT failed AND found MATCHES "^([0-9]+)\\.([0-9]+)")
        set(architecture ${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real)
      else()
        set(architecture 75-virtual)
      endif()
      set(CMAKE_CUDA_ARCHITECTURES ${architecture} CACHE STRING "GPU architectures to build for")
    endif()
    enable_language(CUDA)
    set(LAB_HAS_CUDA ON)
    lab_nvtx()
  else()
    message(STATUS "nvcc is not here: the CUDA programs are left out, recorded evidence serves instead")
  endif()
endif()

# One program: ch05_streams/exercises/1_vector_add_pipeline/starter.cu -> ch05_streams.1_vector_add_pipeline.starter
function(lab_add_program target source)
  cmake_path(GET source PARENT_PATH folder)
  file(STRINGS ${CMAKE_SOURCE_DIR}/common/nvcc.flags flags)
  set(own_flags "")
  if(EXISTS ${folder}/nvcc.flags)
    file(STRINGS ${folder}/nvcc.flags own_flags)
  endif()
  list(REMOVE_ITEM flags -I. -O3 -std=c++17) # CMake has its own words for these
  set(libraries ${own_flags})
  list(FILTER libraries INCLUDE REGEX "^-l")
  list(TRANSFORM libraries REPLACE "^-l" "")
  list(FILTER own_flags EXCLUDE REGEX "^-l")
  add_executable(${target} EXCLUDE_FROM_ALL ${source})
  set(built ${target})
  # A program may open a library at run time that stands in its own file: starter -> starter.so
  file(STRINGS ${source} has_library REGEX BUILD_LIBRARY LIMIT_COUNT 1)
  if(has_library)
    add_library(${target}.so MODULE EXCLUDE_FROM_ALL ${source})
    set_target_properties(${target}.so PROPERTIES PREFIX "" SUFFIX ""
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs.cmake)
    target_compile_definitions(${target}.so PRIVATE BUILD_LIBRARY)
    add_dependencies(${target} ${target}.so)
    list(APPEND built ${target}.so)
  endif()
  foreach(one IN LISTS built)
    set_target_properties(${one} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs.cmake)
    target_compile_options(${one} PRIVATE -O3 ${flags} ${own_flags})
    target_include_directories(${one} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${one} PRIVATE lab::nvtx3 ${libraries} ${CMAKE_DL_LIBS})
  endforeach()
endfunction()

function(add_chapter name)
  string(REGEX REPLACE "_.*" "" label ${name})
  add_executable(${name}_test ${CMAKE_CURRENT_SOURCE_DIR}/test.cpp)
  target_link_libraries(${name}_test PRIVATE lab_chapter_test)
  # 77 says that a case is a draft: what is not recorded yet is not checked, and not passed.
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 FIXTURES_REQUIRED claims)
  add_test(NAME live.${name} COMMAND lab_command verify ${label} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(live.${name} PROPERTIES LABELS live SKIP_RETURN_CODE 77 TIMEOUT 1500 RESOURCE_LOCK gpu
    FIXTURES_REQUIRED claims)
  add_custom_target(${name} ALL DEPENDS ${name}_test)
  if(NOT LAB_HAS_CUDA)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cu
    ${CMAKE_CURRENT_SOURCE_DIR}/exercises/*/*.cu)
  if(NOT sources)
    message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR} holds no .cu file: a chapter needs buggy.cu and fixed.cu")
  endif()
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE short)
    string(REGEX REPLACE "^exercises/|\\.cu$" "" short ${short})
    string(REPLACE "/" "." short ${short})
    set(target ${name}.${short})
    lab_add_program(${target} ${source})
    add_dependencies(${name} ${target})
    add_test(NAME ${target}.contract
      COMMAND ${CMAKE_SOURCE_DIR}/harness/tests/program_contract.sh $<TARGET_FILE:${target}>)
    set_tests_properties(${target}.contract PROPERTIES LABELS ${label} TIMEOUT 120 FIXTURES_REQUIRED claims)
  endforeach()
endfunction()
