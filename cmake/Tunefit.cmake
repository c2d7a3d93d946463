# How a room of the core, a test and the JSON library are declared. Every CMakeLists.txt of this tree uses these.

# What every file of ours is compiled with, in every build.
add_library(tunefit_options INTERFACE)
target_compile_features(tunefit_options INTERFACE cxx_std_20)
target_include_directories(tunefit_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tunefit_options INTERFACE
  # A fused multiply-add rounds once where the source says twice: native and wasm would differ in the last bit.
  -ffp-contract=off)
if(EMSCRIPTEN)
  # Smaller by 6 kB compressed, and a tenth faster.
  target_compile_options(tunefit_options INTERFACE $<$<CONFIG:Release>:-flto>)
  target_link_options(tunefit_options INTERFACE $<$<CONFIG:Release>:-flto>)
endif()
if(TUNEFIT_SANITIZE)
  target_compile_options(tunefit_options INTERFACE
    -fsanitize=${TUNEFIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tunefit_options INTERFACE -fsanitize=${TUNEFIT_SANITIZE})
  # The library checks itself too: an index past the end, an optional without a value.
  target_compile_definitions(tunefit_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# Warnings never travel to whoever links the core: they are linked PRIVATE, through $<BUILD_INTERFACE>.
add_library(tunefit_warnings INTERFACE)
target_compile_options(tunefit_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wcast-qual -Wdouble-promotion -Wundef -Wimplicit-fallthrough
  # GCC 12 sees an overlap in "text" + std::string that is not there (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${TUNEFIT_WERROR}>:-Werror>)

# nlohmann/json, for core/codec and for tests that read JSON. Found by hand rather than by its package, because a cross
# build may not search /usr/include: its libc headers would shadow Emscripten's. A folder with one link in it may.
find_path(TUNEFIT_NLOHMANN_DIR nlohmann/json.hpp REQUIRED NO_CMAKE_FIND_ROOT_PATH
  PATHS /usr/include /usr/local/include /opt/homebrew/include)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${TUNEFIT_NLOHMANN_DIR}/nlohmann ${PROJECT_BINARY_DIR}/include/nlohmann SYMBOLIC)
add_library(tunefit_json INTERFACE)
target_include_directories(tunefit_json SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/include)
# Everyone who includes the header must see the same class, with exceptions off.
target_compile_definitions(tunefit_json INTERFACE JSON_NOEXCEPTION=1)
target_compile_options(tunefit_json INTERFACE -fno-exceptions)

# tunefit_library(tunefit_trace SOURCES step.cc ... DEPENDS tunefit_model ... PRIVATE_DEPENDS ...)
# A room: a static library of the files listed, without exceptions. A room without sources yet is an INTERFACE library.
function(tunefit_library name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(NOT ROOM_SOURCES)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tunefit_options ${ROOM_DEPENDS})
    return()
  endif()
  add_library(${name} STATIC ${ROOM_SOURCES})
  # The module leaves out names of types, a kilobyte less. Sanitizers need them, and natively nothing is gained.
  target_compile_options(${name} PRIVATE -fno-exceptions $<$<BOOL:${EMSCRIPTEN}>:-fno-rtti>)
  target_link_libraries(${name}
    PUBLIC tunefit_options ${ROOM_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:tunefit_warnings> ${ROOM_PRIVATE_DEPENDS})
endfunction()

# tunefit_build_for_size(api.cc ...)
# Files of this folder that run once, or once a request: the module is what a first visit waits for.
function(tunefit_build_for_size)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:$<IF:$<BOOL:${EMSCRIPTEN}>,-Oz,-Os>>)
endfunction()

# tunefit_test(unit_trace SOURCES step_test.cc ... DEPENDS tunefit_trace ... [LABELS fast] [TIMEOUT 900])
# A GoogleTest program, one ctest entry. TUNEFIT_SOURCE_DIR, TUNEFIT_CATALOG and TUNEFIT_MARKET name the tree and the two
# parts of the bundled catalog.
function(tunefit_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT TEST_SOURCES)
    return()
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE tunefit_options tunefit_warnings ${TEST_DEPENDS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    TUNEFIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TUNEFIT_CATALOG="${TUNEFIT_CATALOG}" TUNEFIT_MARKET="${TUNEFIT_MARKET}")
  add_dependencies(${name} tunefit_catalog)
  # The XML is where scripts/test.sh counts cases: ctest itself counts programs.
  add_test(NAME ${name} COMMAND ${name} --gtest_output=xml:${PROJECT_BINARY_DIR}/test-results/${name}.xml)
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 900)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
