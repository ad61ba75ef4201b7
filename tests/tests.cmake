# One line per test program: tests/<folder>/*.cpp, linked with the folders named.
add_library(trainyard_test_main OBJECT tests/main.cpp)
target_link_libraries(trainyard_test_main PRIVATE Catch2::Catch2 trainyard_sanitizer)
set_source_files_properties(tests/main.cpp PROPERTIES COMPILE_OPTIONS "-O0")

# The headers that most tests include, and grpc's for those who speak it, compiled once for all test programs.
function(trainyard_test_headers target)
  add_library(${target} OBJECT tests/precompiled.cpp)
  trainyard_precompile(${target} <catch2/catch.hpp> <nlohmann/json.hpp> ${ARGN})
  target_link_libraries(${target} PRIVATE Catch2::Catch2 gRPC::grpc++ trainyard_options)
  if(NOT TRAINYARD_SANITIZE)
    target_compile_options(${target} PRIVATE -O1 -g1)
  endif()
endfunction()
trainyard_test_headers(trainyard_test_catch)
trainyard_test_headers(trainyard_test_grpc <grpcpp/grpcpp.h>)

# Shared by the tests that hold values against a schema; its headers are heavy, its speed is nothing.
add_library(trainyard_test_schema OBJECT tests/schemas/json_schema.cpp)
target_include_directories(trainyard_test_schema PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(trainyard_test_schema PRIVATE nlohmann_json::nlohmann_json trainyard_sanitizer)
target_compile_options(trainyard_test_schema PRIVATE -O0 -g0)

# What tests of several folders use; every test program is linked with it.
trainyard_library(tests/support DEPS schemas/base)

# Kernels against the CPU's, by a test and, where there is a GPU, by a program of its own.
trainyard_library(tests/conformance DEPS runtime/graph)
trainyard_library(tests/conformance/mirror DEPS runtime/graph)
trainyard_library(tests/conformance/reference DEPS tests/conformance)
target_compile_options(trainyard_tests_conformance_mirror PRIVATE ${TRAINYARD_COMPUTE_OPTIONS} -Wno-unknown-pragmas)  # nvcc knows them
set_target_properties(trainyard_tests_conformance_mirror PROPERTIES TRAINYARD_IS_OPENED ON)  # in the double below
trainyard_program(trainyard-conformance tests/conformance/program DEPS tests/conformance tests/conformance/mirror
                  tests/conformance/reference runtime/device runtime/model)

# Stands for the driver's library that tells of GPUs: build/tests/nvml_double.so.
add_library(nvml_double MODULE tests/support/nvml_double/nvml_double.cpp)
target_compile_features(nvml_double PRIVATE cxx_std_20)
set_target_properties(nvml_double PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Stand for the driver's libcuda.so.1 and for the plugin, with GPUs that are the mirror device. Their names here are none
# that a program opens: a test puts them under those names beside a copy of the runtime (tests/e2e/gpu_host.h).
add_library(gpu_double_driver MODULE tests/support/gpu_double/driver.cpp)
add_library(gpu_double_plugin MODULE tests/support/gpu_double/plugin.cpp tests/support/gpu_double/shown_gpus.cpp
                                     tests/support/gpu_double/failing_device.cpp)
add_dependencies(gpu_double_plugin trainyard_build_id)
target_include_directories(gpu_double_plugin PRIVATE ${CMAKE_BINARY_DIR}/generated)
trainyard_link(gpu_double_plugin PRIVATE DEPS tests/conformance/mirror)
set_target_properties(gpu_double_plugin PROPERTIES TRAINYARD_IS_OPENED ON CXX_VISIBILITY_PRESET hidden)
target_link_options(gpu_double_plugin PRIVATE LINKER:--exclude-libs,ALL)
target_compile_features(gpu_double_driver PRIVATE cxx_std_20)
set_target_properties(gpu_double_driver gpu_double_plugin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

trainyard_test(tidy)
trainyard_test(schemas/base DEPS schemas/base OUTSIDE Threads::Threads)
trainyard_test(schemas/types DEPS schemas/types)
trainyard_test(schemas/model APART zoo_arguments_test zoo_test DEPS schemas/wire)
trainyard_test(schemas/onnx APART checker_test DEPS schemas/onnx schemas/wire runtime/model OUTSIDE ${TRAINYARD_ONNX_CHECKER})
trainyard_test(schemas/files DEPS schemas/files)
trainyard_test(schemas/wire DEPS schemas/wire)
target_sources(schemas_wire_test PRIVATE $<TARGET_OBJECTS:trainyard_test_schema>)
trainyard_test(schemas/settings DEPS schemas/settings)
trainyard_test(scheduler/core APART failure_test lifecycle_test liveness_test obstacles_test partition_test queue_test saving_test
               DEPS scheduler/core schemas/wire)
trainyard_test(scheduler/store DEPS scheduler/store)
# A filter that only leaves out would run hidden tests too, hence ~[.].
trainyard_test(scheduler/loop GRPC DEPS scheduler/loop THREADS ~[large]~[.])
trainyard_test(agent/core APART gpu_test save_test signals_test task_test DEPS agent/core)
trainyard_test(agent/loop GRPC DEPS agent/loop)
trainyard_test(agent/host DEPS agent/host schemas/wire)
trainyard_test(agent/process DEPS agent/process)
foreach(test agent_host_test agent_loop_test)
  add_dependencies(${test} nvml_double trainyard-shim)  # which they load and start
endforeach()
trainyard_test(sim APART host DEPS scheduler/core agent/core)
trainyard_test(runtime/core APART partition_test DEPS runtime/core OUTSIDE nlohmann_json::nlohmann_json)
trainyard_test(runtime/ps APART parameter_server_test DEPS runtime/ps)
trainyard_test(runtime/worker APART exchange_test DEPS runtime/worker)
trainyard_test(runtime/exchange_sim DEPS runtime/ps runtime/worker)
trainyard_test(runtime/math APART optimizer_test row_gradients_test row_table_test DEPS runtime/math OUTSIDE nlohmann_json::nlohmann_json THREADS [threads])
trainyard_test(runtime/graph DEPS runtime/graph tests/conformance tests/conformance/mirror tests/conformance/reference OUTSIDE nlohmann_json::nlohmann_json)
trainyard_test(runtime/device DEPS runtime/device tests/conformance/mirror)
trainyard_test(runtime/model APART replicas_test wide_and_deep_test DEPS runtime/model schemas/wire tests/conformance/mirror OUTSIDE nlohmann_json::nlohmann_json COST 300 THREADS [threads])
# Under the thread sanitizer: without simulations, which have one thread, and what is long by its data; of jobs, some
# that together have all threads.
trainyard_test(runtime/data APART image_file_test libsvm_test DEPS runtime/data OUTSIDE nlohmann_json::nlohmann_json THREADS ~[large]~[.])
trainyard_test(runtime/chunks DEPS runtime/net/chunks runtime/graph tests/conformance/mirror COST 350 THREADS ~[large]~[.])
trainyard_test(runtime/rows GRPC DEPS runtime/net/rows)
trainyard_test(runtime/files DEPS runtime/files)
trainyard_test(runtime/role DEPS runtime/role tests/conformance/mirror TIMEOUT 1800 COST 500 THREADS [threads])  # many gangs of real processes
trainyard_test(api/http DEPS api/http)
trainyard_test(api/routes GRPC DEPS api/routes)
if(TARGET api_routes_test)  # the clients that other tests speak with
  target_sources(api_routes_test PRIVATE tests/api/http/raw_client.cpp tests/scheduler/loop/agent_peer.cpp
                                         tests/schemas/wire/hostile_specs.cpp)
endif()
trainyard_test(api/client DEPS api/client)
add_dependencies(api_client_test trainyard trainyard-server trainyard-agent trainyard-shim)  # which it runs
trainyard_test(api/server DEPS api/client)
# One of them it runs, all of them it looks at.
add_dependencies(api_server_test trainyard-server trainyard-agent trainyard-shim trainyard-runtime trainyard)
trainyard_test(e2e DEPS agent/process schemas/wire runtime/net/chunks OUTSIDE CURL::libcurl TIMEOUT 1800 COST 1000 ASIDE gpu)  # the longest start first
target_sources(e2e_test PRIVATE $<TARGET_OBJECTS:trainyard_test_schema>)
add_dependencies(e2e_test trainyard-conformance nvml_double gpu_double_driver gpu_double_plugin)  # which its agents and tasks load
if(TARGET trainyard-cuda)
  add_dependencies(e2e_test trainyard-cuda)
endif()
# The real programs under attack, alone on the machine, as it asks how soon they answer meanwhile.
trainyard_test(attack DEPS agent/process schemas/wire OUTSIDE CURL::libcurl)
target_sources(attack_test PRIVATE tests/e2e/programs.cpp tests/e2e/rest.cpp tests/e2e/yard.cpp
                                   tests/api/http/raw_client.cpp tests/scheduler/loop/agent_peer.cpp)
set_tests_properties(attack PROPERTIES RUN_SERIAL TRUE)
add_dependencies(attack_test trainyard-server trainyard-agent trainyard-shim trainyard-runtime)

file(GLOB bench_sources CONFIGURE_DEPENDS tests/bench/*.cpp)
if(bench_sources AND NOT TRAINYARD_SANITIZE)  # figures of a sanitized build say nothing
  find_package(Gloo REQUIRED)  # a peer
  trainyard_test(gloo DEPS runtime/net/chunks OUTSIDE gloo)
  target_sources(gloo_test PRIVATE tests/bench/chunk_gang.cpp)
  add_executable(trainyard-bench ${bench_sources})
  trainyard_compile_together(trainyard-bench)
  foreach(name compute_bench conv_bench gemm_bench pushpull_bench schedule_bench submit_bench train_bench two_hosts_bench)
    set_source_files_properties(tests/bench/${name}.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  trainyard_link(trainyard-bench PRIVATE DEPS tests/support tests/conformance runtime/role runtime/net/chunks scheduler/loop schemas/wire
                 OUTSIDE CLI11::CLI11 CURL::libcurl Eigen3::Eigen gloo)
  # Eigen is a peer here: it is given what the runtime is compiled for.
  set_source_files_properties(tests/bench/conv_bench.cpp tests/bench/gemm_bench.cpp PROPERTIES
                              COMPILE_OPTIONS "${TRAINYARD_COMPUTE_OPTIONS}")
endif()

if(NOT TRAINYARD_SANITIZE)
  # The suite for a machine with a GPU, which lacks what this one has.
  add_test(NAME gpu_suite COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/build_alone ${CMAKE_BINARY_DIR}/gpu_alone)
  set_tests_properties(gpu_suite PROPERTIES TIMEOUT 900 COST 600 PROCESSORS 2)
endif()
if(NOT TRAINYARD_SANITIZE)  # where there is no web UI
  add_test(NAME ui COMMAND ${CMAKE_SOURCE_DIR}/tests/ui/run WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(ui PROPERTIES TIMEOUT 900 COST 450
                       ENVIRONMENT "TRAINYARD_BIN=${CMAKE_BINARY_DIR}/bin;TRAINYARD_UI=${CMAKE_BINARY_DIR}/ui")
  # Every command block of the README and of the examples' pages.
  add_test(NAME examples COMMAND ${CMAKE_SOURCE_DIR}/tests/examples/run WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(examples PROPERTIES TIMEOUT 1800 COST 400 ENVIRONMENT "TRAINYARD_BIN=${CMAKE_BINARY_DIR}/bin")
endif()
