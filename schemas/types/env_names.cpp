#include "schemas/types/env_names.h"

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

// As the schema's page and env_allowed_in_words say them.
constexpr std::array<std::string_view, 14> allowed{
    "OMP_*",    "MKL_*",   "OPENBLAS_*", "NCCL_*", "TF_*", "PYTORCH_*",        "CUDA_*",
    "CUBLAS_*", "CUDNN_*", "HF_*",       "LC_*",   "LANG", "TRAINYARD_USER_*", "TZ"};

// By who reads them: the loader and the C library; OpenSSL and gRPC; shells; what the agent sets;
// libraries that load code or files that a variable names, and NVIDIA's driver and libraries, which
// also write such files, ask another server than the host's own which GPUs there are, or multiply
// in another way.
constexpr std::array<std::string_view, 47> never{"LD_*",
                                                 "GLIBC_TUNABLES",
                                                 "GCONV_PATH",
                                                 "LOCPATH",
                                                 "NLSPATH",
                                                 "MALLOC_*",
                                                 "HOSTALIASES",
                                                 "RES_OPTIONS",
                                                 "LOCALDOMAIN",
                                                 "TZDIR",
                                                 "OPENSSL_*",
                                                 "SSL*",
                                                 "GRPC_*",
                                                 "ASAN_OPTIONS",
                                                 "LSAN_OPTIONS",
                                                 "TSAN_OPTIONS",
                                                 "UBSAN_OPTIONS",
                                                 "BASH*",
                                                 "ENV",
                                                 "IFS",
                                                 "PATH",
                                                 "CDPATH",
                                                 "SHELL*",
                                                 "PS4",
                                                 "PROMPT_COMMAND",
                                                 "HOME",
                                                 "USER",
                                                 "LOGNAME",
                                                 "PWD",
                                                 "OLDPWD",
                                                 "TMPDIR",
                                                 "PYTHON*",
                                                 "PERL*",
                                                 "CUDA_VISIBLE_DEVICES",
                                                 "CUDA_DEVICE_ORDER",
                                                 "CUDA_INJECTION*",
                                                 "CUDA_CACHE_PATH",
                                                 "CUDA_COREDUMP*",
                                                 "CUDA_LOG_FILE",
                                                 "CUDA_MPS_LOG_DIRECTORY",
                                                 "CUDA_MPS_PIPE_DIRECTORY",
                                                 "NVTX_INJECTION*",
                                                 "OMP_TOOL*",
                                                 "CUBLAS_LOG*",
                                                 "CUBLASLT_LOG*",
                                                 "CUBLAS_EMULATE*",
                                                 "CUDNN_LOG*"};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

template <class Patterns>
bool matches_any(const Patterns& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [name](std::string_view one) { return matches(one, name); });
}

constexpr bool is_env_letter(char byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

}  // namespace

bool is_env_name(std::string_view name) {
  return !name.empty() && name.size() <= env_name_length_max &&
         !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, is_env_letter);
}

bool is_env_pattern(std::string_view text) {
  if (text.ends_with('*')) text.remove_suffix(1);
  return is_env_name(text);
}

bool is_env_never_allowed(std::string_view name) {
  if (name.starts_with("TRAINYARD_") && !name.starts_with("TRAINYARD_USER_")) return true;
  const auto contains = [name](std::string_view word) { return name.find(word) != name.npos; };
  if (name.starts_with("NCCL_") && (contains("PLUGIN") || contains("FILE"))) return true;
  return matches_any(never, name);
}

bool is_env_allowed_everywhere(std::string_view name) {
  return matches_any(allowed, name) && !is_env_never_allowed(name);
}

bool is_env_allowed(std::string_view name, std::span<const std::string> patterns) {
  return !is_env_never_allowed(name) && (matches_any(allowed, name) || matches_any(patterns, name));
}

}  // namespace trainyard
