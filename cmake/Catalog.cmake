# The bundled catalog: tables of catalog/ as one JSON object a part, under their own names. The texts are put side by side
# and never parsed here: core/codec reads them, and reports what is wrong with them.

# The first part is what an estimate needs; the second is read after the first answer.
set(catalog_tables meta gpus purposes interconnects models stacks sources formulas overheads efficiencies
  outside_steps)
set(market_tables meta servers prices switches vendor)
set(TUNEFIT_VENDOR ${PROJECT_SOURCE_DIR}/catalog/vendor.json CACHE FILEPATH
  "Who shows the page, and which servers and prices appear on it")

set(TUNEFIT_CATALOG ${PROJECT_BINARY_DIR}/catalog/catalog.json)
set(TUNEFIT_MARKET ${PROJECT_BINARY_DIR}/catalog/market.json)

# tunefit_bundle(catalog.json meta gpus ...)
function(tunefit_bundle output)
  set(files "")
  foreach(table IN LISTS ARGN)
    if(table STREQUAL "vendor")
      list(APPEND files ${TUNEFIT_VENDOR})
    else()
      list(APPEND files ${PROJECT_SOURCE_DIR}/catalog/${table}.json)
    endif()
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DTABLES=${ARGN}" "-DFILES=${files}"
      -P ${PROJECT_SOURCE_DIR}/cmake/BundleCatalog.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/BundleCatalog.cmake
    VERBATIM
    COMMENT "Bundling the catalog")
endfunction()

tunefit_bundle(${TUNEFIT_CATALOG} ${catalog_tables})
tunefit_bundle(${TUNEFIT_MARKET} ${market_tables})
add_custom_target(tunefit_catalog ALL DEPENDS ${TUNEFIT_CATALOG} ${TUNEFIT_MARKET})
