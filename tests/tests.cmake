# One line per test program: tests/<folder>/*.cpp, linked with the folders named.
add_library(trainyard_test_main OBJECT tests/main.cpp)
target_link_libraries(trainyard_test_main PRIVATE Catch2::Catch2)
set_source_files_properties(tests/main.cpp PROPERTIES COMPILE_OPTIONS "-O0")

# Shared by the tests that hold values against a schema; its headers are heavy, its speed is nothing.
add_library(trainyard_test_schema OBJECT tests/schemas/json_schema.cpp)
target_include_directories(trainyard_test_schema PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(trainyard_test_schema PRIVATE nlohmann_json::nlohmann_json)
target_compile_options(trainyard_test_schema PRIVATE -O0 -g0)

trainyard_test(tidy)
trainyard_test(schemas/base DEPS schemas/base OUTSIDE Threads::Threads)
trainyard_test(schemas/types DEPS schemas/types)
trainyard_test(schemas/files DEPS schemas/files)
trainyard_test(schemas/wire DEPS schemas/wire)
target_sources(schemas_wire_test PRIVATE $<TARGET_OBJECTS:trainyard_test_schema>)
trainyard_test(schemas/settings DEPS schemas/settings)
trainyard_test(scheduler/core DEPS scheduler/core)
trainyard_test(scheduler/store DEPS scheduler/store)
trainyard_test(scheduler/loop DEPS scheduler/loop)
trainyard_test(agent/core DEPS agent/core)
trainyard_test(agent/loop DEPS agent/loop)
trainyard_test(process DEPS agent/host)
trainyard_test(sim DEPS scheduler/core agent/core TIMEOUT 900)
trainyard_test(runtime/core DEPS runtime/core OUTSIDE nlohmann_json::nlohmann_json)
trainyard_test(runtime/math DEPS runtime/math OUTSIDE nlohmann_json::nlohmann_json)
trainyard_test(runtime/graph DEPS runtime/graph)
trainyard_test(runtime/model DEPS runtime/model OUTSIDE nlohmann_json::nlohmann_json)
trainyard_test(runtime/data DEPS runtime/data)
trainyard_test(runtime/net DEPS runtime/net TIMEOUT 1800 COST 300)  # simulations: long under a sanitizer
trainyard_test(runtime/files DEPS runtime/files)
trainyard_test(runtime/role DEPS runtime/role TIMEOUT 1800 COST 500)  # many gangs of real processes
trainyard_test(api/http DEPS api/http TIMEOUT 900)
trainyard_test(api/routes DEPS api/routes)
if(TARGET api_routes_test)  # the clients that other tests speak with
  target_sources(api_routes_test PRIVATE tests/api/http/raw_client.cpp tests/scheduler/loop/agent_peer.cpp)
endif()
trainyard_test(api/client DEPS api/client)
add_dependencies(api_client_test trainyard trainyard-server trainyard-agent)  # which it runs
trainyard_test(api/server DEPS api/client)
add_dependencies(api_server_test trainyard-server)  # which it runs
trainyard_test(e2e DEPS schemas/wire OUTSIDE CURL::libcurl TIMEOUT 1800 COST 1000)  # the longest starts first
target_sources(e2e_test PRIVATE $<TARGET_OBJECTS:trainyard_test_schema>)
foreach(target scheduler_loop_test agent_loop_test runtime_net_test api_routes_test)
  trainyard_precompile(${target} <catch2/catch.hpp> <grpcpp/grpcpp.h>)
endforeach()

file(GLOB bench_sources CONFIGURE_DEPENDS tests/bench/*.cpp)
if(bench_sources AND NOT TRAINYARD_SANITIZE)  # figures of a sanitized build say nothing
  find_package(Gloo REQUIRED)  # a peer
  trainyard_test(gloo DEPS runtime/net OUTSIDE gloo)
  add_executable(trainyard-bench ${bench_sources})
  trainyard_link(trainyard-bench PRIVATE DEPS runtime/role scheduler/loop schemas/wire
                 OUTSIDE CLI11::CLI11 CURL::libcurl Eigen3::Eigen gloo)
  # Eigen is a peer here: it is given what the runtime is compiled for.
  set_source_files_properties(tests/bench/gemm_bench.cpp PROPERTIES COMPILE_OPTIONS "${TRAINYARD_COMPUTE_OPTIONS}")
endif()

if(NOT TRAINYARD_SANITIZE)  # where there is no web UI
  add_test(NAME ui COMMAND ${CMAKE_SOURCE_DIR}/tests/ui/run WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(ui PROPERTIES TIMEOUT 900 RUN_SERIAL TRUE
                       ENVIRONMENT "TRAINYARD_BIN=${CMAKE_BINARY_DIR}/bin;TRAINYARD_UI=${CMAKE_BINARY_DIR}/ui")
endif()
