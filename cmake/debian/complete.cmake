# CPack runs this between installing the components, each below a root of its own, and packing them: every package gets its
# copyright and changelog, the manual is compressed, and zsh's completion goes where Debian's zsh looks.
cmake_policy(VERSION 3.25)  # what CPack runs takes none over from the project

# run(COMMAND…): a command that must succeed.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(READ ${CPACK_SPINDRIFT_NOTICE} NOTICE)
string(STRIP "${NOTICE}" NOTICE)
string(REGEX REPLACE "\n\n" "\n.\n" NOTICE "${NOTICE}")
string(REGEX REPLACE "\n" "\n " NOTICE " ${NOTICE}")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  if(NOT EXISTS ${root}/share AND NOT EXISTS ${root}/include)
    message(FATAL_ERROR "${root}: CPack has not installed the component ${component} there")
  endif()
  set(documents ${root}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${documents})
  configure_file(${CPACK_SPINDRIFT_DEBIAN}/copyright.in ${documents}/copyright @ONLY)
  configure_file(${CPACK_SPINDRIFT_DEBIAN}/changelog.in ${documents}/changelog.Debian @ONLY)
  run(gzip -9n ${documents}/changelog.Debian)
endforeach()

set(root ${CPACK_TEMPORARY_DIRECTORY}/spindrift_runtime/usr)
run(gzip -9n ${root}/share/man/man1/spindrift.1)
if(spindrift_bridge IN_LIST CPACK_COMPONENTS_ALL)
  run(gzip -9n ${CPACK_TEMPORARY_DIRECTORY}/spindrift_bridge/usr/share/man/man1/spindrift-bridge.1)
endif()
file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)
# Policy has the text of a common license in /usr/share/common-licenses; the link in README.md still leads to it.
set(license ${CPACK_TEMPORARY_DIRECTORY}/spindrift_doc/usr/share/doc/spindrift/LICENSE)
file(REMOVE ${license})
file(CREATE_LINK ../../common-licenses/Apache-2.0 ${license} SYMBOLIC)

# The umask of the one who packs is not that of those who install.
run(chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY})
