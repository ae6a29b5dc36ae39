# Compiler settings of every target in this tree: language, warnings, hardening, sanitizers; ccache and mold when present.
# A project that adds this tree to its own has settings for all of that, and what it links takes link options from here: there
# only what the libraries cannot do without is set.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# An interface target, so that nothing of this leaks into what is installed.
add_library(spindrift_flags INTERFACE)

# spindrift_precompile(TARGET HEADER): every source of the target begins with the header, read once: for those as large as
# Catch2's and CLI11's. Of gcc alone: clang's files name the build that they were made in, which ccache must not mix up.
function(spindrift_precompile target header)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} PRIVATE ${header})
  endif()
endfunction()

if(SPINDRIFT_SANITIZE)
  target_compile_options(spindrift_flags INTERFACE -fsanitize=${SPINDRIFT_SANITIZE} -fno-omit-frame-pointer -g1
                         -fno-sanitize-recover=all)
  target_link_options(spindrift_flags INTERFACE -fsanitize=${SPINDRIFT_SANITIZE})
  if(SPINDRIFT_FUZZ)  # counts edges, but not what is compared: that would double the time of the tests of the same build
    # For what is fuzzed: the rooms, and the targets themselves. Tests are compiled faster without.
    add_library(spindrift_fuzz_flags INTERFACE)
    target_compile_options(spindrift_fuzz_flags INTERFACE -fsanitize-coverage=inline-8bit-counters,pc-table)
  endif()
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths below the source tree are taken relative, so that one clone profits from what another has compiled.
  # Before ccache takes precompiled headers, it wants to hear that macros and dates in them are as they seem.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# gcc 12 sees overlapping copies in `"literal" + std::string` that are not there (its bug 105651).
target_compile_options(spindrift_flags BEFORE INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  -fstack-protector-strong -fcf-protection $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_link_options(spindrift_flags INTERFACE -Wl,-z,relro,-z,now)
if(NOT SPINDRIFT_SANITIZE)
  target_compile_options(spindrift_flags INTERFACE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endif()
