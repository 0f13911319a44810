# What `cmake --install` installs: the program, the ready-made specs, the public headers, and a shared
# library with a CMake package, so that another program can write
#   find_package(hotloop REQUIRED)
#   target_link_libraries(mine PRIVATE hotloop::hotloop)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Shared rather than static: users need not link our dependencies, and the linker keeps all objects,
# including those that only register a world when they are loaded.
add_library(hotloop_lib SHARED)
set_target_properties(hotloop_lib PROPERTIES OUTPUT_NAME hotloop EXPORT_NAME hotloop
                      VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_link_libraries(hotloop_lib PRIVATE hotloop_engine)
target_link_options(hotloop_lib PRIVATE LINKER:--exclude-libs,ALL)
target_compile_features(hotloop_lib INTERFACE cxx_std_20)
add_library(hotloop::hotloop ALIAS hotloop_lib)

set(HOTLOOP_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/hotloop)
install(TARGETS hotloop_cli)
if(TARGET hotloop_bench)  # `hotloop bench` looks for it next to the program
  install(TARGETS hotloop_bench)
endif()
install(TARGETS hotloop_lib EXPORT hotloop INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hotloop DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/specs DESTINATION ${CMAKE_INSTALL_DATADIR}/hotloop)
install(EXPORT hotloop NAMESPACE hotloop:: FILE hotloopTargets.cmake
        DESTINATION ${HOTLOOP_PACKAGE_DIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/hotloopConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/package/hotloopConfig.cmake
                              INSTALL_DESTINATION ${HOTLOOP_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/hotloopConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/hotloopConfig.cmake
              ${PROJECT_BINARY_DIR}/package/hotloopConfigVersion.cmake
        DESTINATION ${HOTLOOP_PACKAGE_DIR})
