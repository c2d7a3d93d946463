# Finds the Emscripten that is installed (Debian's package, or an emsdk on the PATH) and hands over to its own toolchain.

if(DEFINED ENV{EMSCRIPTEN_ROOT})
  set(emscripten_root $ENV{EMSCRIPTEN_ROOT})
else()
  find_program(TUNEFIT_EMCC emcc PATHS /usr/share/emscripten NO_CMAKE_FIND_ROOT_PATH)
  if(NOT TUNEFIT_EMCC)
    message(FATAL_ERROR "No emcc on the PATH: run `make setup`, or activate an emsdk.")
  endif()
  get_filename_component(emcc_file ${TUNEFIT_EMCC} REALPATH)
  get_filename_component(emscripten_root ${emcc_file} DIRECTORY)
  # Debian's /usr/bin/emcc is a small script, not a link into the folder it runs.
  if(NOT EXISTS ${emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
    set(emscripten_root /usr/share/emscripten)
  endif()
endif()

include(${emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
