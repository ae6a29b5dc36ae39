# `cmake --install` makes these of the rooms: exported targets, a find_package config, a pkg-config file. Included after the
# last room. Everything installed stands without this tree: no path of it may appear in an installed file.

include(CMakePackageConfigHelpers)

install(TARGETS spindrift_umbrella EXPORT spindrift)
spindrift_install_headers()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/spindrift)
install(EXPORT spindrift NAMESPACE spindrift:: FILE spindriftTargets.cmake DESTINATION ${package_directory})
configure_package_config_file(cmake/spindriftConfig.cmake.in ${PROJECT_BINARY_DIR}/spindriftConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/spindriftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/spindriftConfig.cmake ${PROJECT_BINARY_DIR}/spindriftConfigVersion.cmake
        DESTINATION ${package_directory})

# Static libraries are given to the linker from the last room to the first.
list(REVERSE rooms)
list(TRANSFORM rooms PREPEND "-lspindrift_" OUTPUT_VARIABLE PKG_CONFIG_LIBRARIES)
list(JOIN PKG_CONFIG_LIBRARIES " " PKG_CONFIG_LIBRARIES)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE PKG_CONFIG_PREFIX)
configure_file(cmake/spindrift.pc.in ${PROJECT_BINARY_DIR}/spindrift.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/spindrift.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# With all pages that they point to, each at its place.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME spindrift_doc)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE derecho.cfg.example
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "spindrift.1" PATTERN "results/*.json" PATTERN "schemas/*.json")
install(DIRECTORY examples/config_store examples/hello_dds examples/kubernetes DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples USE_SOURCE_PERMISSIONS)
install(FILES store/FORMAT.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/store)
foreach(room IN ITEMS dds kernel rpc tests/fuzz tests/model tests/sim)
  install(FILES ${room}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${room})
endforeach()
