include_guard(GLOBAL)

# What nvcc needs beside the course's own flags: the key `flags` at the top of chapter.toml is the pair's, the one in
# an [[exercise]] is that exercise's. OWNER is the exercise's name, or empty for the pair.
function(lab_read_flags chapter_toml owner result)
  file(READ ${chapter_toml} text)
  string(REGEX REPLACE "[][;]" "|" text "${text}") # brackets and semicolons would confuse CMake's lists
  string(REGEX MATCHALL "\n(name|flags) = [^\n]*|\n\\|\\|[a-z.]+" lines "\n${text}")
  set(section "")
  set(flags "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\n\\|\\|exercise$")
      set(section "?") # its name follows
    elseif(line MATCHES "^\n\\|\\|")
      set(section "|") # a finding, a question: no flags
    elseif(line MATCHES "name = \"(.*)\"" AND section STREQUAL "?")
      set(section "${CMAKE_MATCH_1}")
    elseif(line MATCHES "flags = " AND section STREQUAL owner)
      string(REGEX MATCHALL "\"[^\"]*\"" flags "${line}")
      string(REPLACE "\"" "" flags "${flags}")
    endif()
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()
