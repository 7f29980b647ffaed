# cmake -P harness/cmake/chapter_flags_test.cmake: plain CMake reads the same flags from chapter.toml as `lab` does.
include(${CMAKE_CURRENT_LIST_DIR}/chapter_flags.cmake)
set(file ${CMAKE_CURRENT_BINARY_DIR}/chapter_flags_test.toml)
file(WRITE ${file} [=[
title = "a; b [c]"
flags = ["-lcublas"]
hints = [
  "flags = none",
]
[[recording]]
name = "alike"
nsys = ["--delay=1"]
[[finding]]
id = "x"
sql = "SELECT [1]; "
[[exercise]]
name = "alike"
flags = ["-lcurand", "-DROWS=3"]
library = true
[[exercise.recording]]
name = "other"
[[exercise.finding]]
id = "y"
[[companion]]
name = "beside"
flags = ["-lbeside"]
[[companion.finding]]
id = "z"
[[exercise]]
name = "plain"
[[quiz]]
id = "z"
]=])

function(expect owner wanted)
  lab_read_flags(${file} "${owner}" found)
  if(NOT "${found}" STREQUAL "${wanted}")
    message(SEND_ERROR "flags of '${owner}': expected '${wanted}', found '${found}'")
  endif()
endfunction()

function(expect_library owner wanted)
  lab_read_library(${file} "${owner}" found)
  if(NOT found STREQUAL wanted)
    message(SEND_ERROR "library of '${owner}': expected '${wanted}', found '${found}'")
  endif()
endfunction()

expect_library("" OFF)
expect_library("alike" ON)
expect_library("plain" OFF)
expect("" "-lcublas")
expect("alike" "-lcurand;-DROWS=3")
expect("plain" "")
expect("beside" "-lbeside")
expect("other" "")
expect("nowhere" "")
file(REMOVE ${file})
