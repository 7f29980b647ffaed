include_guard(GLOBAL)

# The line of a key of chapter.toml: at its top for the pair, in an [[exercise]] or [[companion]] for that. OWNER is
# the name of the exercise or companion, or empty for the pair. RESULT is empty if the key is not there.
function(lab_read_key chapter_toml owner key result)
  file(READ ${chapter_toml} text)
  string(REGEX REPLACE "[][;]" "|" text "${text}") # brackets and semicolons would confuse CMake's lists
  string(REGEX MATCHALL "\n(name|${key}) = [^\n]*|\n\\|\\|[a-z.]+" lines "\n${text}")
  set(section "")
  set(found "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\n\\|\\|(exercise|companion)$")
      set(section "?") # its name follows
    elseif(line MATCHES "^\n\\|\\|")
      set(section "|") # a finding, a question: none of these keys
    elseif(line MATCHES "name = \"(.*)\"" AND section STREQUAL "?")
      set(section "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^\n${key} = " AND section STREQUAL owner)
      set(found "${line}")
    endif()
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# What nvcc needs beside the course's own flags (`flags = [...]`), as a list.
function(lab_read_flags chapter_toml owner result)
  lab_read_key("${chapter_toml}" "${owner}" flags line)
  string(REGEX MATCHALL "\"[^\"]*\"" flags "${line}")
  string(REPLACE "\"" "" flags "${flags}")
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

# Does the file of each program hold a library too (`library = true`)? RESULT is ON or OFF.
function(lab_read_library chapter_toml owner result)
  lab_read_key("${chapter_toml}" "${owner}" library line)
  if(line MATCHES "= true")
    set(${result} ON PARENT_SCOPE)
  else()
    set(${result} OFF PARENT_SCOPE)
  endif()
endfunction()
