# The libraries the harness stands on: the system's copy where there is a new enough one, else a copy
# fetched at a pinned version and SHA256. The system comes first because it needs no network and gets
# security fixes; the pin is there so that a fetched build is the same build everywhere.
#
#   lab_host_dependencies()  SQLite::SQLite3 tomlplusplus::tomlplusplus CLI11::CLI11 fmt::fmt ZLIB::ZLIB
#                            nlohmann_json::nlohmann_json doctest::doctest lab::utf8proc
#   lab_nvtx()               lab::nvtx3, for CUDA programs
#
# The target names are the same whichever way a library came, and every directory sees them. Their
# headers are system headers to the compiler, so our -Werror does not judge them.
# Each SHA256 below stands in at least two independent public build recipes.
include_guard(GLOBAL)
include(FetchContent)

option(LAB_STATIC "Link no shared third-party library, so that a program can be copied elsewhere" OFF)

# Unpacks one pinned archive and hands its folder back in `out`. The download is a step of its own because
# FetchContent without a network ends in a page of build log, where the reader needs one sentence.
function(lab_fetch out name version url sha256)
  get_filename_component(archive "${url}" NAME)
  set(archive "${FETCHCONTENT_BASE_DIR}/archives/${name}-${archive}")
  set(have "")
  if(EXISTS "${archive}")
    file(SHA256 "${archive}" have)
  endif()
  string(TOUPPER ${name} upper)
  if(NOT have STREQUAL sha256 AND NOT FETCHCONTENT_SOURCE_DIR_${upper} AND NOT FETCHCONTENT_FULLY_DISCONNECTED)
    message(STATUS "${name}: no usable copy on this system, fetching ${version} from ${url}")
    file(DOWNLOAD "${url}" "${archive}" INACTIVITY_TIMEOUT 30 STATUS status)
    list(POP_FRONT status failed)
    if(failed)
      file(REMOVE "${archive}")
      message(FATAL_ERROR "This system has no ${name}, or too old a one, and fetching ${url} failed (${status}); "
                          "connect to the network, or install it:\n  ${LAB_REMEDY}")
    endif()
  endif()
  # A SOURCE_SUBDIR that does not exist keeps the library's own CMakeLists.txt out of our build: we want
  # its files only, and old ones ask for a CMake so old that CMake 4 refuses them.
  FetchContent_Declare(${name} URL "${archive}" URL_HASH SHA256=${sha256} SOURCE_SUBDIR no-such-folder)
  FetchContent_MakeAvailable(${name})
  set(${out} "${${name}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

# A library that is a folder of headers. The system's copy is known by its CMake package (PACKAGE) or by a
# header that only new enough versions have (one of PROBE); FOLDER is where the fetched archive has the headers.
function(lab_header_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEFINE;FOLDER;NAME;VERSION;URL;SHA256" "PACKAGE;PROBE")
  if(arg_PACKAGE AND NOT TARGET ${target})
    find_package(${arg_PACKAGE} CONFIG QUIET GLOBAL) # a name and the oldest version that will do
  endif()
  if(TARGET ${target})
    return()
  endif()
  if(arg_PROBE)
    find_path(LAB_${arg_NAME}_INCLUDE_DIR NAMES ${arg_PROBE})
  endif()
  set(folder "${LAB_${arg_NAME}_INCLUDE_DIR}")
  if(NOT folder)
    lab_fetch(source ${arg_NAME} ${arg_VERSION} ${arg_URL} ${arg_SHA256})
    set(folder "${source}/${arg_FOLDER}")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${folder}")
  target_compile_definitions(${target} INTERFACE ${arg_DEFINE})
endfunction()

function(lab_fmt)
  # Debian's fmt is a shared library only, so a static build uses the headers (std.h came with fmt 9).
  set(known_by PACKAGE fmt 9)
  if(LAB_STATIC)
    set(known_by PROBE fmt/std.h)
  endif()
  lab_header_library(fmt::fmt ${known_by} DEFINE FMT_HEADER_ONLY=1 FOLDER include NAME fmt VERSION 10.2.1
    URL https://github.com/fmtlib/fmt/releases/download/10.2.1/fmt-10.2.1.zip
    SHA256 312151a2d13c8327f5c9c586ac6cf7cddc1658e8f53edae0ec56509c8fa516c9)
endfunction()

# Searched for by hand: newer CMakes rename their SQLite target and warn about the name older ones need.
function(lab_find_sqlite)
  set(library sqlite3)
  if(LAB_STATIC) # Debian's archive fits into programs only: it is not position independent
    set(library libsqlite3.a)
  endif()
  find_path(LAB_sqlite3_INCLUDE_DIR sqlite3.h)
  find_library(LAB_${library}_FILE ${library})
  if(LAB_sqlite3_INCLUDE_DIR AND LAB_${library}_FILE AND NOT TARGET SQLite::SQLite3)
    add_library(SQLite::SQLite3 UNKNOWN IMPORTED GLOBAL)
    set_target_properties(SQLite::SQLite3 PROPERTIES IMPORTED_LOCATION "${LAB_${library}_FILE}"
      INTERFACE_INCLUDE_DIRECTORIES "${LAB_sqlite3_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "m;pthread;${CMAKE_DL_LIBS}") # an archive does not name what it needs
  endif()
endfunction()

function(lab_build_sqlite)
  lab_fetch(source sqlite3 3.46.1 https://www.sqlite.org/2024/sqlite-amalgamation-3460100.zip
    77823cb110929c2bcb0f5d48e4833b5c59a8a6e40cdea3936b99e199dbbe5784)
  add_library(lab_sqlite3 STATIC "${source}/sqlite3.c")
  # Position independent so that it fits into shared libraries too; -w as its warnings are not ours to fix.
  set_target_properties(lab_sqlite3 PROPERTIES POSITION_INDEPENDENT_CODE ON COMPILE_OPTIONS -w)
  # Without extension loading it needs no dlopen; with the maths functions it knows the SQL that Debian's does.
  target_compile_definitions(lab_sqlite3 PRIVATE SQLITE_OMIT_LOAD_EXTENSION SQLITE_ENABLE_MATH_FUNCTIONS)
  target_include_directories(lab_sqlite3 SYSTEM INTERFACE "${source}")
  target_link_libraries(lab_sqlite3 PUBLIC m pthread)
  add_library(SQLite::SQLite3 ALIAS lab_sqlite3)
endfunction()

# Reads UTF-8, and knows which characters a terminal must not get and how wide the others are there. The system's
# archive comes first: a built lab can then be copied to a machine without the shared library.
function(lab_find_utf8proc)
  set(names libutf8proc.a)
  if(NOT LAB_STATIC)
    list(APPEND names utf8proc)
  endif()
  find_path(LAB_utf8proc_folder utf8proc.h NO_CACHE)
  find_library(LAB_utf8proc_file NAMES ${names} NO_CACHE)
  if(LAB_utf8proc_folder AND LAB_utf8proc_file)
    add_library(lab::utf8proc UNKNOWN IMPORTED GLOBAL)
    set_target_properties(lab::utf8proc PROPERTIES IMPORTED_LOCATION "${LAB_utf8proc_file}"
      INTERFACE_INCLUDE_DIRECTORIES "${LAB_utf8proc_folder}")
  endif()
endfunction()

function(lab_build_utf8proc)
  lab_fetch(source utf8proc 2.9.0 https://github.com/JuliaStrings/utf8proc/releases/download/v2.9.0/utf8proc-2.9.0.tar.gz
    bd215d04313b5bc42c1abedbcb0a6574667e31acee1085543a232204e36384c4)
  add_library(lab_utf8proc STATIC "${source}/utf8proc.c")
  set_target_properties(lab_utf8proc PROPERTIES POSITION_INDEPENDENT_CODE ON COMPILE_OPTIONS -w)
  target_compile_definitions(lab_utf8proc PUBLIC UTF8PROC_STATIC)
  target_include_directories(lab_utf8proc SYSTEM INTERFACE "${source}")
  add_library(lab::utf8proc ALIAS lab_utf8proc)
endfunction()

# Unpacks what torch.profiler writes as .json.gz.
function(lab_build_zlib)
  lab_fetch(source zlib 1.3.1 https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz
    9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23)
  file(GLOB sources "${source}/*.c")
  add_library(lab_zlib STATIC ${sources})
  set_target_properties(lab_zlib PROPERTIES POSITION_INDEPENDENT_CODE ON COMPILE_OPTIONS -w)
  target_compile_definitions(lab_zlib PRIVATE Z_HAVE_UNISTD_H)
  target_include_directories(lab_zlib SYSTEM PUBLIC "${source}")
  add_library(ZLIB::ZLIB ALIAS lab_zlib)
endfunction()

# A macro, and not to be called from a function: enable_language() works at file scope only. It waits
# until here because a system that has SQLite, utf8proc and zlib needs no C compiler.
macro(lab_host_dependencies)
  set(LAB_REMEDY "apt-get install libsqlite3-dev libtomlplusplus-dev libcli11-dev libfmt-dev \
nlohmann-json3-dev libutf8proc-dev zlib1g-dev doctest-dev")
  lab_find_sqlite()
  if(NOT TARGET SQLite::SQLite3)
    enable_language(C)
    lab_build_sqlite()
  endif()
  lab_find_utf8proc()
  if(NOT TARGET lab::utf8proc)
    enable_language(C)
    lab_build_utf8proc()
  endif()
  set(ZLIB_USE_STATIC_LIBS ${LAB_STATIC})
  find_package(ZLIB QUIET GLOBAL)
  if(NOT TARGET ZLIB::ZLIB)
    enable_language(C)
    lab_build_zlib()
  endif()
  lab_fmt()
  # Debian also compiles toml++ into a shared library; the headers alone do. Only 3.x has impl/version.h,
  # which became version.hpp with 3.4.
  lab_header_library(tomlplusplus::tomlplusplus PROBE toml++/impl/version.h toml++/impl/version.hpp DEFINE TOML_HEADER_ONLY=1
    FOLDER include NAME tomlplusplus VERSION 3.4.0
    URL https://github.com/marzer/tomlplusplus/archive/refs/tags/v3.4.0.tar.gz
    SHA256 8517f65938a4faae9ccf8ebb36631a38c1cadfb5efa85d9a72e15b9e97d25155)
  lab_header_library(CLI11::CLI11 PACKAGE CLI11 2 FOLDER include NAME cli11 VERSION 2.4.2
    URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
    SHA256 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)
  lab_header_library(nlohmann_json::nlohmann_json PACKAGE nlohmann_json 3.11
    FOLDER include NAME nlohmann_json VERSION 3.11.3
    URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    SHA256 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
  lab_header_library(doctest::doctest PACKAGE doctest 2.4.9 FOLDER . NAME doctest VERSION 2.4.11
    URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
    SHA256 632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186)
endmacro()

function(lab_nvtx)
  if(NOT CUDAToolkit_INCLUDE_DIRS)
    find_package(CUDAToolkit QUIET)
  endif()
  # The toolkit's own copy goes first: once this has found it, lab_header_library() does not search.
  find_path(LAB_nvtx3_INCLUDE_DIR nvtx3/nvToolsExt.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
  set(LAB_REMEDY "a CUDA toolkit that has include/nvtx3/nvToolsExt.h, with its nvcc on the PATH")
  lab_header_library(lab::nvtx3 PROBE nvtx3/nvToolsExt.h FOLDER c/include NAME nvtx3 VERSION 3.2.1
    URL https://github.com/NVIDIA/NVTX/archive/refs/tags/v3.2.1.tar.gz
    SHA256 737c3035f0e43a2252e7cd94c3f26e11e169f624236efe31794f044ce44a70af)
  target_link_libraries(lab::nvtx3 INTERFACE ${CMAKE_DL_LIBS}) # NVTX opens the profiler's library itself
endfunction()
