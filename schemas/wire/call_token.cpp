#include "schemas/wire/call_token.h"

#include <array>
#include <charconv>
#include <optional>

#include "schemas/files/secret.h"

namespace trainyard {
namespace {

constexpr const char* task_name_key = "trainyard-task";
constexpr const char* token_key = "trainyard-token";

std::string_view value_in(const grpc::ServerContextBase& call, const char* key) {
  const auto& all = call.client_metadata();
  const auto found = all.find(key);
  if (found == all.end()) return {};
  return {found->second.data(), found->second.size()};
}

std::optional<std::int64_t> number_from(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace

void attach_token(grpc::ClientContext& call, const CallToken& by) {
  call.AddMetadata(task_name_key, to_string(by.task));
  call.AddMetadata(token_key, by.token);
}

void attach_token(grpc::ClientContext& call, const std::string& gang_token) {
  call.AddMetadata(token_key, gang_token);
}

Result<CallToken> read_call_token(const grpc::ServerContextBase& call) {
  TRY_ASSIGN(TaskKey task, parse_task_key(value_in(call, task_name_key)));
  return CallToken{std::move(task), std::string(value_in(call, token_key))};
}

bool has_gang_token(const grpc::ServerContextBase& call, std::string_view token) {
  return is_same_secret(value_in(call, token_key), token);
}

bool has_gang_token(const grpc::ServerContextBase& call) {
  return !value_in(call, token_key).empty();
}

bool is_same_token(std::string_view one, std::string_view other) {
  return is_same_secret(one, other);
}

Result<TaskKey> parse_task_key(std::string_view text) {
  std::array<std::string_view, 4> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    const std::size_t slash = is_last ? text.size() : text.find('/');
    if (slash == std::string_view::npos) return invalid("no task is named by a call");
    parts[i] = text.substr(0, slash);
    if (!is_last) text.remove_prefix(slash + 1);
  }
  const auto attempt = number_from(parts[1]);
  const auto role = role_from(parts[2]);
  const auto index = number_from(parts[3]);
  if (!is_id(parts[0]) || !attempt || *attempt < 1 || !role || !index || *index < 0) {
    return invalid("no task is named by a call");
  }
  return TaskKey{JobId{std::string(parts[0])}, *attempt, *role, *index};
}

grpc::Status unauthenticated(const std::string& message) {
  return {grpc::StatusCode::UNAUTHENTICATED, message};
}

}  // namespace trainyard
