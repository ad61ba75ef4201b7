// Which environment variables a job may set in its tasks' processes. An allow-list: what is neither
// on it nor on that of the agent is refused. Names by which a loader, a shell or a library runs
// other code, or which the agent sets, are refused whatever an agent allows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

inline constexpr std::size_t env_name_length_max = 128;
inline constexpr std::size_t env_patterns_max = 64;  // of one agent

// 1 to 128 letters, digits and '_', not a digit first.
bool is_env_name(std::string_view name);

// A name, or the beginning of names and a '*': "APP_*".
bool is_env_pattern(std::string_view text);

// Whatever an agent allows.
bool is_env_never_allowed(std::string_view name);

// On every agent.
bool is_env_allowed_everywhere(std::string_view name);

// On an agent that allows these patterns besides.
bool is_env_allowed(std::string_view name, std::span<const std::string> patterns);

// In words, for refusals.
inline constexpr std::string_view env_allowed_in_words =
    "OMP_*, MKL_*, OPENBLAS_*, NCCL_*, TF_*, PYTORCH_*, CUDA_*, CUBLAS_*, CUDNN_*, HF_*, LC_*, "
    "TRAINYARD_USER_*, LANG and TZ";

}  // namespace trainyard
