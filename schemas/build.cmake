# How a Trainyard target is declared: trainyard_library, trainyard_protos, trainyard_program, trainyard_test.
# A folder is a target: its files are found, so that adding a file needs no edit here.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Functions and lines, for stack traces. All of what a debugger can show is a third of the time of a build.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
find_program(TRAINYARD_CCACHE ccache)
if(TRAINYARD_CCACHE)
  # It goes by the compiler's own list of headers: to preprocess every unit first costs a fresh build more than a
  # cache ever gives it. Units with a precompiled header are kept only when their macros and times may differ. Clones in
  # different folders share it: paths are taken as they are from the build folder.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
                                  CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TRAINYARD_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(CURL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(Boost REQUIRED COMPONENTS filesystem)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(Catch2 2 REQUIRED)
pkg_check_modules(PISTACHE REQUIRED IMPORTED_TARGET libpistache)
add_library(Pistache::Pistache ALIAS PkgConfig::PISTACHE)

# gRPC with all that it needs but TLS, which tasks do not speak, for programs that live for a second only: fifty shared
# libraries are 6 ms of processor time at each start, that of C++ alone one.
pkg_check_modules(GRPC_PARTS REQUIRED grpc++ protobuf)
set(GRPC_PARTS ${GRPC_PARTS_STATIC_LIBRARIES})
list(REMOVE_ITEM GRPC_PARTS ssl crypto)
list(TRANSFORM GRPC_PARTS REPLACE "^(grpc|grpc\\+\\+)$" "\\1_unsecure")
set(parts)
foreach(part IN LISTS GRPC_PARTS)
  find_library(TRAINYARD_STATIC_${part} lib${part}.a)
  if(NOT TRAINYARD_STATIC_${part})
    list(APPEND parts ${part})
  else()
    list(APPEND parts ${TRAINYARD_STATIC_${part}})
  endif()
endforeach()
list(REMOVE_DUPLICATES parts)
add_library(trainyard_static_grpc INTERFACE)
string(REPLACE ";" "," parts "${parts}")
target_link_libraries(trainyard_static_grpc INTERFACE "$<LINK_GROUP:RESCAN,${parts}>")
# Which of the two, the program that is linked says.
add_library(trainyard_grpc INTERFACE)
set(is_static $<BOOL:$<TARGET_PROPERTY:TRAINYARD_STATIC_GRPC>>)
target_link_libraries(trainyard_grpc INTERFACE $<${is_static}:trainyard_static_grpc>
                      $<$<NOT:${is_static}>:gRPC::grpc++> $<$<NOT:${is_static}>:protobuf::libprotobuf>)

# ONNX's messages; its checker and shape inference are for tests alone. Debian's CMake files name places that the
# package does not fill.
find_path(TRAINYARD_ONNX_INCLUDE onnx/onnx_pb.h REQUIRED)
find_library(TRAINYARD_ONNX_PROTO onnx_proto REQUIRED)
find_library(TRAINYARD_ONNX_CHECKER onnx REQUIRED)
add_library(trainyard_onnx INTERFACE)
target_compile_definitions(trainyard_onnx INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)
target_include_directories(trainyard_onnx SYSTEM INTERFACE ${TRAINYARD_ONNX_INCLUDE})
target_link_libraries(trainyard_onnx INTERFACE ${TRAINYARD_ONNX_PROTO} protobuf::libprotobuf)

include(schemas/cuda_options.cmake)
# A toolkit that is there, wherever it lies; sanitizers and fuzzers have no use for one.
if(NOT TRAINYARD_SANITIZE)
  find_package(CUDAToolkit 12.4 QUIET)
endif()
if(CUDAToolkit_FOUND)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  set(CMAKE_CUDA_ARCHITECTURES ${TRAINYARD_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TRAINYARD_CCACHE})
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG")
  enable_language(CUDA)
  set(CMAKE_CUDA17_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 knows none of nvcc's later than 17
endif()

# What every unit is compiled with. Library headers are SYSTEM, so these are about our own code.
add_library(trainyard_options INTERFACE)
target_compile_options(trainyard_options INTERFACE -Wall -Wextra -Wpedantic
                       # of several files that are compiled at once, one shadows what is another's
                       $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,-Wno-subobject-linkage,-Wshadow>
                       -Wconversion -Werror -fno-omit-frame-pointer -pthread
                       -Wno-maybe-uninitialized)  # g++ 12 is wrong about std::variant
set(TRAINYARD_SANITIZE "" CACHE STRING "sanitizers: address,undefined or thread")
option(TRAINYARD_FUZZ "fuzz targets, by clang and beside sanitizers" OFF)
# What a fault in memory is worth to an attacker: a checked stack, checked copies, addresses that differ from start to
# start, and a table of functions that is read-only before main.
set(is_opened $<BOOL:$<TARGET_PROPERTY:TRAINYARD_IS_OPENED>>)  # by a running program: a library of the tests
target_compile_options(trainyard_options INTERFACE -fstack-protector-strong $<IF:${is_opened},-fPIC,-fPIE>)
target_link_options(trainyard_options INTERFACE LINKER:-z,relro LINKER:-z,now)
target_include_directories(trainyard_options INTERFACE ${CMAKE_SOURCE_DIR})

if(TRAINYARD_SANITIZE MATCHES address)
  # Its tables of all globals are half of what a program's start takes, where they have to be relocated.
  target_link_options(trainyard_options INTERFACE $<$<NOT:${is_opened}>:-no-pie>)
else()
  target_link_options(trainyard_options INTERFACE $<$<NOT:${is_opened}>:-pie>)
endif()
if(NOT TRAINYARD_SANITIZE)  # which check copies themselves
  target_compile_options(trainyard_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
# Also for what is compiled without trainyard_options, the tests' main and messages: an inline function is taken from
# any unit that has it, and the thread sanitizer has to see both sides of a lock.
add_library(trainyard_sanitizer INTERFACE)
target_link_libraries(trainyard_options INTERFACE trainyard_sanitizer)
if(TRAINYARD_SANITIZE)
  target_compile_options(trainyard_sanitizer INTERFACE -fsanitize=${TRAINYARD_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(trainyard_sanitizer INTERFACE -fsanitize=${TRAINYARD_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # warnings are g++'s to give; ccache wants precompiled headers without a date
  target_compile_options(trainyard_options INTERFACE -w "SHELL:-Xclang -fno-pch-timestamp")
  # What g++ says by itself of its sanitizers.
  if(TRAINYARD_SANITIZE MATCHES address)
    target_compile_definitions(trainyard_sanitizer INTERFACE __SANITIZE_ADDRESS__=1)
  elseif(TRAINYARD_SANITIZE MATCHES thread)
    target_compile_definitions(trainyard_sanitizer INTERFACE __SANITIZE_THREAD__=1)
    set(ignored ${CMAKE_SOURCE_DIR}/tests/tsan.ignore)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ignored})
    file(SHA256 ${ignored} digest)  # Debian's ccache goes by the option's text, not by the file
    target_compile_options(trainyard_sanitizer INTERFACE -fsanitize-ignorelist=${ignored} -DTRAINYARD_IGNORED=${digest})
  endif()
endif()

# runtime/ is compiled for one instruction set, so that all peers of a job compute the same bits (docs/decisions,
# 0006); what uses more says so function by function (math/avx512.h). Nobody reads errno or
# floating-point traps of arithmetic, and without them loops with sqrt and selections are vectorised; the values are
# the same. Of sanitized code only this is optimised, as the tests wait for it: with its checks everything else is
# compiled in half of the time.
set(TRAINYARD_COMPUTE_OPTIONS -march=x86-64-v3 -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(TRAINYARD_SANITIZE)
  list(APPEND TRAINYARD_COMPUTE_OPTIONS -O1)
else()
  list(APPEND TRAINYARD_COMPUTE_OPTIONS -O3)
endif()

function(trainyard_target_name folder out)
  string(REPLACE "/" "_" name ${folder})
  set(${out} trainyard_${name} PARENT_SCOPE)
endfunction()

function(trainyard_link target visibility)
  cmake_parse_arguments(ARG "" "" "DEPS;OUTSIDE" ${ARGN})
  foreach(dep IN LISTS ARG_DEPS)
    trainyard_target_name(${dep} name)
    if(TARGET ${name})
      target_link_libraries(${target} ${visibility} ${name})
    else()
      message(FATAL_ERROR "${target} depends on ${dep}, which is not declared above it")
    endif()
  endforeach()
  list(TRANSFORM ARG_OUTSIDE REPLACE "^gRPC::grpc\\+\\+$" trainyard_grpc)
  target_link_libraries(${target} ${visibility} ${ARG_OUTSIDE} trainyard_options)
endfunction()

# trainyard_compile_together(target): eight of its files at a time, but in the dev preset, which is for edits
function(trainyard_compile_together target)
  if(TRAINYARD_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# trainyard_library(folder [DEPS folder...] [OUTSIDE target...])
function(trainyard_library folder)
  trainyard_target_name(${folder} target)
  if(folder MATCHES "^(runtime/(math|graph|model)|schemas/(model|onnx))$")  # ops/cpu, optim, zoo: families in folders of their own
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  trainyard_link(${target} ${visibility} ${ARGN})
  if(sources AND folder MATCHES "^runtime/")
    target_compile_options(${target} PRIVATE ${TRAINYARD_COMPUTE_OPTIONS})
  endif()
  # A fuzz target learns from what its libraries count. Arithmetic reads nothing that anybody sends.
  if(sources AND TRAINYARD_FUZZ AND NOT folder MATCHES "^(runtime/(math|graph|model|device)|tests)")
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(folder STREQUAL runtime/math)
    target_compile_options(${target} PRIVATE -O3)
  endif()
  # Several files at a time, so that their headers are read once; but not what is optimized most.
  if(sources AND (TRAINYARD_SANITIZE OR NOT folder STREQUAL runtime/math))
    trainyard_compile_together(${target})
  endif()
endfunction()

# trainyard_build_id(folder): the header runtime/graph/build_id.h for that folder's target: a digest of what the runtime
# and its plugin for GPUs share, so that they know each other.
function(trainyard_build_id folder)
  set(header ${CMAKE_BINARY_DIR}/generated/runtime/graph/build_id.h)
  add_custom_target(trainyard_build_id ALL
    COMMAND ${CMAKE_COMMAND} -D OUT=${header} -D ROOT=${CMAKE_SOURCE_DIR} -P ${CMAKE_SOURCE_DIR}/schemas/build_id.cmake
    BYPRODUCTS ${header} VERBATIM)
endfunction()

# trainyard_cuda_plugin(name folder): lib<name>.so of the folder's .cu files, beside the programs, where there is a CUDA
# toolkit of 12.4 or newer; it needs the driver alone. Without one nothing is built, and nothing lacks.
function(trainyard_cuda_plugin name folder)
  if(NOT CMAKE_CUDA_COMPILER)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cu)
  add_library(${name} MODULE ${sources})
  add_dependencies(${name} trainyard_build_id)
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
                        CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  target_compile_options(${name} PRIVATE ${TRAINYARD_CUDA_OPTIONS} -Xcompiler=-fno-omit-frame-pointer)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_options(${name} PRIVATE LINKER:-z,defs LINKER:--exclude-libs,ALL LINKER:-z,relro LINKER:-z,now)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})  # by which it opens NVIDIA's libraries
endfunction()

# trainyard_protos(folder file.proto...): messages and gRPC services, generated into the build folder and
# included by their path in the repository ("schemas/proto/agent.grpc.pb.h").
function(trainyard_protos folder)
  trainyard_target_name(${folder} target)
  get_target_property(plugin gRPC::grpc_cpp_plugin LOCATION)
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(sources)
  foreach(file IN LISTS ARGN)
    string(REGEX REPLACE "\\.proto$" "" stem ${folder}/${file})
    add_custom_command(
      OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${out} --grpc_out=${out}
              --plugin=protoc-gen-grpc=${plugin} ${CMAKE_SOURCE_DIR}/${folder}/${file}
      DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/${file} VERBATIM)
    list(APPEND sources ${out}/${stem}.pb.cc ${out}/${stem}.grpc.pb.cc)
  endforeach()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC trainyard_grpc PRIVATE trainyard_sanitizer)
endfunction()

# trainyard_program(name file.cpp|folder [DEPS ...] [OUTSIDE ...])
function(trainyard_program name source)
  if(source MATCHES "\\.cpp$")
    set(sources ${source})
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${source}/*.cpp)
  endif()
  if(NOT sources OR NOT EXISTS ${CMAKE_SOURCE_DIR}/${source})
    message(WARNING "${name} has no sources yet")
    return()
  endif()
  add_executable(${name} ${sources})
  trainyard_link(${name} PRIVATE ${ARGN})
endfunction()

# trainyard_test(folder [GRPC] [APART file...] [DEPS folder...] [OUTSIDE target...] [TIMEOUT seconds] [COST number]
#                [ASIDE tag]):
# tests/<folder>/*.cpp, one test program, linked with tests/support. GRPC: most of its units include grpc's header.
# APART: files that use another's names for other things, so each is compiled alone. COST: the highest starts first.
# ASIDE: tests with this tag are one of ctest's own, FOLDER_TAG, so that they run beside the others.
# TIMEOUT, unless told otherwise 900: a test that takes longer hangs. Under a sanitizer, beside a build, some take 300.
function(trainyard_test folder)
  cmake_parse_arguments(ARG "GRPC" "TIMEOUT;COST;THREADS;ASIDE" "APART;DEPS;OUTSIDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" name ${folder})
  set(target ${name}_test)
  add_executable(${target} ${sources} $<TARGET_OBJECTS:trainyard_test_main>)
  target_link_libraries(${target} PRIVATE Catch2::Catch2)
  if(ARG_GRPC)
    target_precompile_headers(${target} REUSE_FROM trainyard_test_grpc)
  else()
    target_precompile_headers(${target} REUSE_FROM trainyard_test_catch)
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  if(NOT TRAINYARD_SANITIZE)
    target_compile_options(${target} PRIVATE -O1 -g1)  # a test is compiled more often than it is run
  endif()
  trainyard_link(${target} PRIVATE DEPS tests/support ${ARG_DEPS} OUTSIDE ${ARG_OUTSIDE})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  trainyard_compile_together(${target})
  list(TRANSFORM ARG_APART REPLACE "(.+)" "tests/${folder}/\\1.cpp")
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  set(asked)  # of its tests; all, unless told otherwise
  if(TRAINYARD_SANITIZE MATCHES thread)
    set(asked ${ARG_THREADS})
  endif()
  set(names ${name})
  if(ARG_ASIDE)
    list(APPEND names ${name}_${ARG_ASIDE})
    add_test(NAME ${name}_${ARG_ASIDE} COMMAND ${target} ${asked}[${ARG_ASIDE}]~[.]
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(asked ${asked}~[${ARG_ASIDE}]~[.])  # a filter that only leaves out would run hidden tests, too
  endif()
  add_test(NAME ${name} COMMAND ${target} ${asked} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${names} PROPERTIES TIMEOUT ${ARG_TIMEOUT}
                       ENVIRONMENT "TRAINYARD_BIN=${CMAKE_BINARY_DIR}/bin")
  if(ARG_COST)
    set_tests_properties(${names} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# trainyard_precompile(target <header>...): headers of others that most of its units include
function(trainyard_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # ccache asks for it
  endif()
endfunction()

# trainyard_precompiled_as(target other): with the headers that were precompiled for another target
function(trainyard_precompiled_as target other)
  target_precompile_headers(${target} REUSE_FROM ${other})
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# trainyard_migrations(folder): its numbered .sql files, compiled into migrations() of <folder>/migrations.h
function(trainyard_migrations folder)
  trainyard_target_name(${folder} target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/[0-9]*.sql)
  list(SORT files)
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    string(REGEX MATCH "^0*([0-9]+)_" ignored ${name})
    file(READ ${file} sql)
    string(APPEND rows "    {${CMAKE_MATCH_1}, R\"sql(${sql})sql\"},\n")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/${folder}/migrations.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[#include "schemas/sql/migrations.h"

namespace trainyard {
namespace {
constexpr Migration rows[] = {
@rows@};
}  // namespace
std::span<const Migration> migrations() { return rows; }
}  // namespace trainyard
]])
  add_library(${target} STATIC ${source})
  trainyard_link(${target} PUBLIC)
endfunction()

# trainyard_documents(folder function=file...): text files compiled into the folder's library, each as a function
# `std::string_view <function>()` of namespace trainyard::api, declared in the folder's documents.h.
function(trainyard_documents folder)
  trainyard_target_name(${folder} target)
  set(functions "")
  foreach(pair IN LISTS ARGN)
    string(REGEX MATCH "^([^=]+)=(.*)$" ignored ${pair})
    set(function ${CMAKE_MATCH_1})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_2})
    file(READ ${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_2} text)
    string(APPEND functions "std::string_view ${function}() {\n  return R\"document(${text})document\";\n}\n")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/${folder}/documents.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[#include "@folder@/documents.h"

namespace trainyard::api {
@functions@}  // namespace trainyard::api
]])
  target_sources(${target} PRIVATE ${source})
endfunction()
