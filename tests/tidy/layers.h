// Who may include whom: the layer table of ARCHITECTURE.md as data. A new folder needs a row here.
#pragma once

#include <array>
#include <string_view>

namespace trainyard::tidy {

struct Layer {
  std::string_view folder;   // with the folders below it, unless they have a row of their own
  std::string_view ours;     // folders, or single headers, that it may include besides its own
  std::string_view outside;  // libraries, as in `libraries` below; "posix" = headers of the system
};

inline constexpr std::array layers{
    // words
    Layer{"schemas/base", "", "posix"},
    Layer{"schemas/model", "schemas/base", ""},
    Layer{"schemas/onnx", "schemas/base schemas/model", "onnx protobuf"},
    Layer{"schemas/types", "schemas/base schemas/model", ""},
    Layer{"schemas/sql", "", ""},
    Layer{"schemas/files", "schemas/base", "openssl posix"},
    Layer{"schemas/wire", "schemas/base schemas/types schemas/model schemas/files schemas/proto",
          "nlohmann protobuf grpc"},
    Layer{"schemas/settings", "schemas/base", "cli11 nlohmann"},
    // scheduler
    Layer{"scheduler/core", "schemas/base schemas/model schemas/types", ""},
    Layer{"scheduler/store",
          "schemas/base schemas/model schemas/types schemas/files schemas/wire schemas/onnx "
          "schemas/sql scheduler/core",
          "sqlite posix"},
    Layer{"scheduler/link", "schemas/base schemas/types schemas/wire schemas/proto", "grpc posix"},
    Layer{"scheduler/loop",
          "schemas/base schemas/model schemas/types schemas/files schemas/wire scheduler/core "
          "scheduler/store scheduler/link",
          "posix"},
    // agent
    Layer{"agent/core", "schemas/base schemas/types", ""},
    Layer{"agent/process", "schemas/base schemas/types schemas/files", "posix"},
    Layer{"agent/shim", "schemas/base schemas/files agent/process", "posix"},
    Layer{"agent/host", "schemas/base schemas/types schemas/files agent/process", "boost posix"},
    Layer{"agent/link", "schemas/base schemas/types schemas/files schemas/wire schemas/proto",
          "grpc posix"},
    Layer{"agent/loop",
          "schemas/base schemas/types schemas/files schemas/wire schemas/proto agent/core "
          "agent/process "
          "agent/host agent/link",
          "posix"},
    Layer{"agent", "schemas agent", "cli11 posix"},
    // runtime
    Layer{"runtime/core", "schemas/base schemas/types", ""},
    Layer{"runtime/ps", "schemas/base schemas/types runtime/core", ""},
    Layer{"runtime/worker", "schemas/base schemas/types runtime/core", ""},
    Layer{"runtime/math", "schemas/base runtime/core", ""},
    Layer{"runtime/math/ops/cpu", "schemas/base runtime/core runtime/math", "x86"},
    Layer{"runtime/math/wire", "schemas/base runtime/core runtime/math", "x86"},
    Layer{"runtime/math/optim", "schemas/base schemas/types runtime/core runtime/math", ""},
    Layer{"runtime/graph", "schemas/base schemas/types runtime/core runtime/math", ""},
    Layer{"runtime/graph/cuda",
          "schemas/base schemas/types runtime/core runtime/math runtime/graph", "cuda posix"},
    Layer{"runtime/device", "schemas/base schemas/types runtime/core runtime/math runtime/graph",
          "posix"},
    Layer{"runtime/data",
          "schemas/base schemas/types schemas/files schemas/wire runtime/core runtime/math",
          "jpeg png posix zlib"},
    Layer{"runtime/model",
          "schemas/base schemas/model schemas/types runtime/core runtime/math runtime/graph "
          "runtime/data",
          ""},
    Layer{"runtime/net",
          "schemas/base schemas/types schemas/wire schemas/proto runtime/core runtime/math",
          "grpc protobuf posix"},
    Layer{"runtime/net/chunks",
          "schemas/base schemas/types schemas/files runtime/core runtime/math runtime/ps "
          "runtime/worker runtime/net",
          "posix"},
    Layer{"runtime/net/rows",
          "schemas/base schemas/types schemas/wire schemas/proto runtime/core runtime/math "
          "runtime/net",
          "grpc protobuf posix"},
    Layer{"runtime/files",
          "schemas/base schemas/types schemas/files schemas/wire runtime/core runtime/math",
          "posix"},
    Layer{"runtime/role",
          "schemas/base schemas/model schemas/types schemas/files schemas/wire runtime", "posix"},
    Layer{"runtime", "schemas runtime", "posix"},
    // api
    Layer{"api/http", "schemas/base", "pistache posix"},
    Layer{"api/routes",
          "schemas/base schemas/model schemas/types schemas/files schemas/wire api/http "
          "scheduler/loop scheduler/store/reader.h scheduler/core/explain.h",
          "nlohmann prometheus posix"},
    Layer{"api/server", "schemas/base schemas/settings api scheduler/loop", "cli11 posix"},
    Layer{"api/client", "schemas/base schemas/types schemas/files schemas/wire schemas/settings",
          "curl cli11 nlohmann posix"},
};

// How a library's headers begin.
struct Library {
  std::string_view name;
  std::string_view prefixes;
};
inline constexpr std::array libraries{
    Library{"boost", "boost/"},
    Library{"cli11", "CLI/"},
    Library{"cuda", "cublasLt.h cuda_runtime.h cudnn.h nccl.h"},
    Library{"curl", "curl/"},
    Library{"eigen", "Eigen/"},
    Library{"grpc", "grpcpp/ grpc/"},
    Library{"jpeg", "jpeglib.h jerror.h"},
    Library{"nlohmann", "nlohmann/"},
    Library{"onnx", "onnx/"},
    Library{"openssl", "openssl/"},
    Library{"pistache", "pistache/"},
    Library{"png", "png.h"},
    Library{"prometheus", "prometheus/"},
    Library{"protobuf", "google/protobuf/"},
    Library{"sqlite", "sqlite3.h"},
    Library{"x86", "immintrin.h"},
    Library{"zlib", "zlib.h"},
};

// Cores are values with one function: what reads a clock, waits, or touches the world is not for
// them.
inline constexpr std::array core_folders{
    std::string_view("schemas/model"), std::string_view("scheduler/core"),
    std::string_view("agent/core"),    std::string_view("runtime/core"),
    std::string_view("runtime/ps"),    std::string_view("runtime/worker")};
inline constexpr std::string_view core_banned_headers =
    "chrono thread mutex shared_mutex condition_variable future stop_token semaphore fstream "
    "iostream filesystem ctime random";
inline constexpr std::string_view core_banned_words =
    "rand srand getenv random_device gettimeofday clock_gettime sleep_for";

inline constexpr std::string_view top_folders =
    "api scheduler agent runtime schemas ui examples tests docs build";

}  // namespace trainyard::tidy
