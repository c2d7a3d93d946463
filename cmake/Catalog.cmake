# The bundled catalog: every catalog/*.json, by its base name, as one JSON object. The texts are put side by side and
# never parsed here: core/codec reads them, and reports what is wrong with them.

set(TUNEFIT_CATALOG ${PROJECT_BINARY_DIR}/catalog/catalog.json)
file(GLOB catalog_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/catalog/*.json)
add_custom_command(
  OUTPUT ${TUNEFIT_CATALOG}
  COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${TUNEFIT_CATALOG}" "-DFILES=${catalog_files}"
    -P ${PROJECT_SOURCE_DIR}/cmake/BundleCatalog.cmake
  DEPENDS ${catalog_files} ${PROJECT_SOURCE_DIR}/cmake/BundleCatalog.cmake
  VERBATIM
  COMMENT "Bundling the catalog")
add_custom_target(tunefit_catalog ALL DEPENDS ${TUNEFIT_CATALOG})
