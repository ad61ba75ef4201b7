# cmake -D OUT=file -D ROOT=folder -P build_id.cmake: what tells a build of the runtime and of its plugin from another
# one: a digest of the headers, sources and options that both are made of.
file(GLOB_RECURSE files ${ROOT}/runtime/core/*.h ${ROOT}/runtime/math/*.h ${ROOT}/runtime/graph/*.h
     ${ROOT}/runtime/graph/*.cu ${ROOT}/schemas/base/*.h ${ROOT}/schemas/types/precision.h
     ${ROOT}/schemas/cuda_options.cmake)
list(SORT files)
set(digests)
foreach(file IN LISTS files)
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 id "${digests}")
set(text "// Made by schemas/build_id.cmake.\n#pragma once\n\nnamespace trainyard::runtime {\n\ninline constexpr const char* build_id = \"${id}\";\n\n}  // namespace trainyard::runtime\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUT} "${text}")
endif()
