# add_chapter(NAME): the CUDA programs of a chapter's folder and its doctest test, under one target of that name.
#
#   NAME              builds the pair and the exercises:  cmake --build build --target ch05_streams
#   NAME_test         is the chapter's test of its recorded evidence
#   ctest -L ch05     runs the chapter's tests; it needs the target all
#
# Programs are found by folder: every .cu of the chapter and of its exercises. Flags are the course's own, from
# common/nvcc.flags, which `lab` gives to nvcc as well.
include_guard(GLOBAL)
include(CheckLanguage)
include(chapter_flags)

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

# The library in a program's own file, beside the program: starter -> starter.so
function(lab_add_library_of target source)
  add_library(${target}.so MODULE EXCLUDE_FROM_ALL ${source})
  get_target_property(options ${target} COMPILE_OPTIONS)
  set_target_properties(${target}.so PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
    PREFIX "" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs.cmake)
  target_compile_options(${target}.so PRIVATE ${options})
  target_compile_definitions(${target}.so PRIVATE BUILD_LIBRARY)
  target_include_directories(${target}.so PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target}.so PRIVATE lab::nvtx3)
  add_dependencies(${target} ${target}.so)
endfunction()

# One program: ch05_streams/exercises/1_vector_add_pipeline/starter.cu -> ch05_streams.1_vector_add_pipeline.starter
function(lab_add_program target source own_flags)
  file(STRINGS ${CMAKE_SOURCE_DIR}/common/nvcc.flags flags)
  list(REMOVE_ITEM flags -I. -O3 -std=c++17)
  add_executable(${target} EXCLUDE_FROM_ALL ${source})
  set_target_properties(${target} PROPERTIES
    CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs.cmake)
  target_compile_options(${target} PRIVATE -O3 ${flags})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  set(libraries ${own_flags})
  list(FILTER libraries INCLUDE REGEX "^-l")
  list(FILTER own_flags EXCLUDE REGEX "^-l")
  list(TRANSFORM libraries REPLACE "^-l" "")
  target_compile_options(${target} PRIVATE ${own_flags})
  target_link_libraries(${target} PRIVATE lab::nvtx3 ${libraries} ${CMAKE_DL_LIBS})
endfunction()

function(add_chapter name)
  string(REGEX REPLACE "_.*" "" label ${name})
  add_executable(${name}_test ${CMAKE_CURRENT_SOURCE_DIR}/test.cpp)
  target_link_libraries(${name}_test PRIVATE lab_chapter_test)
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # 77 is "no GPU here": ctest counts it as skipped, not as passed.
  add_test(NAME ${name}.live COMMAND lab_command verify ${label} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name}.live PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1500 RESOURCE_LOCK gpu)
  # The chapter's own test says 77 of a draft: what is not recorded yet is not checked, and not passed.
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  set_tests_properties(${name} ${name}.live PROPERTIES LABELS ${label})
  add_custom_target(${name} ALL)
  if(NOT LAB_HAS_CUDA)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu ${CMAKE_CURRENT_SOURCE_DIR}/exercises/*/*.cu)
  if(NOT sources)
    message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR} holds no .cu file: a chapter needs buggy.cu and fixed.cu")
  endif()
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE short)
    string(REGEX REPLACE "^exercises/|\\.cu$" "" short ${short})
    string(REPLACE "/" "." short ${short})
    set(target ${name}.${short})
    set(owner "")
    if(short MATCHES "^[0-9]+_(.*)\\.")
      set(owner ${CMAKE_MATCH_1})
    elseif(NOT short MATCHES "^(buggy|fixed)$") # a companion
      set(owner ${short})
    endif()
    lab_read_flags(${CMAKE_CURRENT_SOURCE_DIR}/chapter.toml "${owner}" flags)
    lab_add_program(${target} ${source} "${flags}")
    lab_read_library(${CMAKE_CURRENT_SOURCE_DIR}/chapter.toml "${owner}" has_library)
    if(has_library)
      lab_add_library_of(${target} ${source})
    endif()
    add_dependencies(${name} ${target})
    add_test(NAME ${target}.contract
      COMMAND ${CMAKE_SOURCE_DIR}/harness/tests/program_contract.sh $<TARGET_FILE:${target}>)
    set_tests_properties(${target}.contract PROPERTIES LABELS ${label} TIMEOUT 120)
  endforeach()
endfunction()
