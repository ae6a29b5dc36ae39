# Debian packages of what is installed, made by tools/package: spindrift (the command), libspindrift-dev (headers and static
# libraries) and spindrift-doc (documents). SPINDRIFT_MAINTAINER and SPINDRIFT_DATE, which tools/package knows, go into them.

set(SPINDRIFT_MAINTAINER "" CACHE STRING "NAME <MAIL> of who answers for the packages")
set(SPINDRIFT_DATE "" CACHE STRING "Date of the packages, as `date -R` writes it")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME spindrift)
set(CPACK_PACKAGE_VENDOR spindrift)
# Each package has a summary of its own, before which CPack would set this one.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/packages)
set(CPACK_COMPONENTS_ALL spindrift_runtime spindrift_dev spindrift_doc)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${SPINDRIFT_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What Debian wants of every package, and of its places: see the script.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/complete.cmake)
set(CPACK_SPINDRIFT_DEBIAN ${PROJECT_SOURCE_DIR}/cmake/debian)
set(CPACK_SPINDRIFT_NOTICE ${PROJECT_SOURCE_DIR}/examples/flight/NOTICE)
set(CPACK_SPINDRIFT_DATE "${SPINDRIFT_DATE}")

# spindrift_package(COMPONENT NAME SECTION SUMMARY DESCRIPTION): one package.
macro(spindrift_package component name section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
endmacro()
string(JOIN "\n" what "Processes form a group, and every member delivers the same messages in the"
       "same order; members write into memory that their peers read." ".")

spindrift_package(spindrift_runtime spindrift net "groups that deliver the same messages in the same order"
                  "${what}\nThis package has the command that runs, tries, measures and examines groups.")
set(CPACK_DEBIAN_SPINDRIFT_RUNTIME_PACKAGE_SHLIBDEPS ON)
# They are loaded by members whose fabric needs them, and by no others.
set(CPACK_DEBIAN_SPINDRIFT_RUNTIME_PACKAGE_SUGGESTS "libfabric1, libibverbs1, librdmacm1, ibverbs-providers, spindrift-doc, spindrift-bridge")

spindrift_package(spindrift_dev libspindrift-dev libdevel "middleware for replicated state machines (development files)"
                  "${what}\nThis package has the headers, the static libraries, and what CMake and\npkg-config need.")
string(REGEX REPLACE "^([0-9]+)\\..*" "\\1" fmt_major ${fmt_VERSION})
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+)\\..*" "\\1;\\2" spdlog_parts ${spdlog_VERSION})
list(GET spdlog_parts 0 spdlog_major)
list(GET spdlog_parts 1 spdlog_minor)
math(EXPR fmt_next "${fmt_major} + 1")
math(EXPR spdlog_next "${spdlog_minor} + 1")
# fmt's functions change with its major version, spdlog's with the minor one, whose packages of Debian have the epoch 1.
string(JOIN ", " CPACK_DEBIAN_SPINDRIFT_DEV_PACKAGE_DEPENDS
  "libfmt-dev (>= ${fmt_VERSION})" "libfmt-dev (<< ${fmt_next}~)"
  "libspdlog-dev (>= 1:${spdlog_VERSION})" "libspdlog-dev (<< 1:${spdlog_major}.${spdlog_next}~)"
  "libxxhash-dev (>= ${xxhash_VERSION})" "liburing-dev (>= ${uring_VERSION})" "libssl-dev (>= 3.0)" "libcereal-dev" "nlohmann-json3-dev" "pkgconf"
  # PFR came with Boost 1.75; what Debian 12 calls Boost is 1.74.
  "libboost1.81-dev | libboost-dev (>= 1.75)" "libfastcdr-dev (>= ${fastcdr_VERSION})")
set(CPACK_DEBIAN_SPINDRIFT_DEV_PACKAGE_RECOMMENDS "g++ (>= 4:12) | clang (>= 1:14)")
set(CPACK_DEBIAN_SPINDRIFT_DEV_PACKAGE_SUGGESTS "cmake, spindrift, spindrift-doc")

# The programs that packages hold, and with them the libraries.
add_custom_target(spindrift_packaged DEPENDS spindrift_command)
if(TARGET spindrift_bridge)
  add_dependencies(spindrift_packaged spindrift_bridge)
  list(APPEND CPACK_COMPONENTS_ALL spindrift_bridge)
  spindrift_package(spindrift_bridge spindrift-bridge net "topics of Spindrift for programs of Cyclone DDS and ROS 2"
                    "${what}\nThis package has what spindrift bridge needs.")
  set(CPACK_DEBIAN_SPINDRIFT_BRIDGE_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_SPINDRIFT_BRIDGE_PACKAGE_DEPENDS
      "spindrift (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
endif()

spindrift_package(spindrift_doc spindrift-doc doc "middleware for replicated state machines (documents)"
                  "${what}\nThis package has the tutorial, the pages on all else, and an example of a\nconfiguration.")
set(CPACK_DEBIAN_SPINDRIFT_DOC_PACKAGE_ARCHITECTURE all)

include(CPack)
