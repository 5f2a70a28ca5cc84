# libtonnage: the layers under src/api as one archive, its header, and a CMake package that finds what it links to.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(tonnage_api PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)

# The objects of every layer that has sources, and the libraries from outside that the layers link.
layer_dependencies(api layers)
list(APPEND layers api)
set(objects)
set(libraries)
foreach(layer IN LISTS layers)
  string(REPLACE "/" "_" id ${layer})
  get_target_property(type tonnage_${id} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:tonnage_${id}>)
  endif()
  get_target_property(linked tonnage_${id} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS linked)
    if(TARGET ${library} AND NOT library MATCHES "^tonnage_")
      list(APPEND libraries ${library})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES libraries)

add_library(libtonnage STATIC ${objects})
set_target_properties(libtonnage PROPERTIES OUTPUT_NAME tonnage EXPORT_NAME tonnage LINKER_LANGUAGE CXX)
target_compile_features(libtonnage INTERFACE cxx_std_20)
target_include_directories(libtonnage INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(libtonnage INTERFACE ${libraries})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tonnage)
install(TARGETS libtonnage EXPORT tonnage ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/tonnage DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT tonnage NAMESPACE tonnage:: FILE tonnageTargets.cmake DESTINATION ${package_folder} COMPONENT library)
configure_package_config_file(cmake/tonnageConfig.cmake.in ${CMAKE_BINARY_DIR}/tonnageConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tonnageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tonnageConfig.cmake ${CMAKE_BINARY_DIR}/tonnageConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT library)
install(TARGETS tonnage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
