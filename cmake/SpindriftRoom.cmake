# spindrift_room(NAME [INTERNAL] SOURCES… ROOMS… LIBRARIES… PRIVATE_LIBRARIES… PUBLIC_HEADERS… SHOWN_HEADERS…):
# one library per room.
#
# Headers are included as <spindrift/ROOM/x.hpp>, in the tree as installed. Each room gets an include directory of its own
# in the build tree that holds nothing but a link to that room, so that an include of a room that is not linked fails.
# PUBLIC_HEADERS are what a user's program includes: `config/config.hpp` of core can also be included as <spindrift/config.hpp>.
# They are installed, with the headers that they need, and no others.
# SHOWN_HEADERS are what other rooms may include, all others are the room's own: tests/house/rooms.sh reads this list.
# INTERNAL: neither installed nor part of the umbrella; for libraries that only this tree's own programs use.

# What public headers begin with: one sentence for a compiler that would give thousands.
set(SPINDRIFT_CXX20
    "#if __cplusplus <= 201703L\n#error \"Spindrift needs C++20: compile with -std=c++20\"\n#else\n")

function(spindrift_room name)
  cmake_parse_arguments(ROOM "INTERNAL" "" "SOURCES;ROOMS;LIBRARIES;PRIVATE_LIBRARIES;PUBLIC_HEADERS;SHOWN_HEADERS" ${ARGN})
  set(target spindrift_${name})
  set(include_root ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${include_root}/spindrift)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_root}/spindrift/${name} SYMBOLIC)

  add_library(${target} STATIC ${ROOM_SOURCES})
  add_library(spindrift::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_definitions(${target} PRIVATE SPINDRIFT_BUILDING)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${include_root}>)
  list(TRANSFORM ROOM_ROOMS PREPEND spindrift_)
  target_link_libraries(${target} PUBLIC ${ROOM_ROOMS} ${ROOM_LIBRARIES}
                        PRIVATE ${ROOM_PRIVATE_LIBRARIES} $<BUILD_INTERFACE:spindrift_flags>
                                $<BUILD_INTERFACE:$<TARGET_NAME_IF_EXISTS:spindrift_fuzz_flags>>)

  if(ROOM_INTERNAL)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY SPINDRIFT_ROOMS ${name})
  if(SPINDRIFT_INSTALL)
    target_include_directories(${target} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    install(TARGETS ${target} EXPORT spindrift ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  foreach(header IN LISTS ROOM_PUBLIC_HEADERS)
    set_property(GLOBAL APPEND PROPERTY SPINDRIFT_PUBLIC_HEADERS ${name}/${header})
    spindrift_front_door(${name} ${header} ${include_root}/spindrift)
  endforeach()
endfunction()

# A header that does nothing but include the room's own, the same in the build tree as installed.
function(spindrift_front_door room header directory)
  cmake_path(GET header FILENAME door)
  file(CONFIGURE OUTPUT ${directory}/${door} CONTENT
       "// The front door of spindrift/@room@/@header@.\n#pragma once\n\n@SPINDRIFT_CXX20@#include <spindrift/@room@/@header@>\n#endif\n" @ONLY)
  if(SPINDRIFT_INSTALL)
    install(FILES ${directory}/${door} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spindrift)
  endif()
endfunction()

# Installs the public headers of all rooms and whatever headers of this tree they include. Called behind the last room.
# For tools/docs all of them are listed in installed_headers.txt, each behind "public" or "needed".
function(spindrift_install_headers)
  get_property(public GLOBAL PROPERTY SPINDRIFT_PUBLIC_HEADERS)
  set(waiting ${public})
  set(needed)
  while(waiting)
    list(POP_FRONT waiting header)
    if(header IN_LIST needed)
      continue()
    endif()
    list(APPEND needed ${header})
    # A header that starts to include another changes what is installed.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^[ ]*#[ ]*include <spindrift/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE ".*<spindrift/([^>]+)>.*" "\\1" included "${line}")
      list(APPEND waiting ${included})
    endforeach()
  endwhile()
  list(SORT needed)
  set(listed "")
  foreach(header IN LISTS needed)
    if(header IN_LIST public)
      string(APPEND listed "public ${header}\n")
    else()
      string(APPEND listed "needed ${header}\n")
    endif()
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spindrift/${folder})
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/installed_headers.txt CONTENT "${listed}" @ONLY)
endfunction()
