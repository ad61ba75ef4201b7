// What the server says when it refuses: problem documents (RFC 9457) in words.
#include "api/client/json_read.h"
#include "api/client/rest.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

Code code_of(long status) {
  switch (status) {
    case 404: return Code::not_found;
    case 409: return Code::conflict;
    case 429:
    case 503: return Code::unavailable;
    default: return status >= 400 && status < 500 ? Code::invalid : Code::internal;
  }
}

std::string fault_line(const nlohmann::json& fault) {
  const std::string pointer = text_of(fault, "pointer");
  return "\n  " + (pointer.empty() ? "" : printable(pointer) + ": ") +
         printable(text_of(fault, "message"));
}

}  // namespace

Result<nlohmann::json> json_of(const Answer& answer) {
  if (!answer.succeeded()) return problem_words(answer);
  if (answer.body.empty()) return nlohmann::json();
  nlohmann::json document = nlohmann::json::parse(answer.body, nullptr, false);
  if (document.is_discarded()) {
    return internal("the server's answer is not JSON: is this the address of a Trainyard server?");
  }
  return document;
}

Error problem_words(const Answer& answer) {
  const nlohmann::json problem = nlohmann::json::parse(answer.body, nullptr, false);
  const std::string title = text_of(problem, "title");
  const std::string detail = text_of(problem, "detail");
  std::string words = printable(detail.empty() ? title : detail);
  if (words.empty()) words = "the server answered with status " + std::to_string(answer.status);
  for (const nlohmann::json& fault : list_of(problem, "errors")) {
    // A single fault that names no place is the detail itself.
    const bool is_said = text_of(fault, "pointer").empty() && text_of(fault, "message") == detail;
    if (!is_said) words += fault_line(fault);
  }
  const std::string wait = answer.header("retry-after");
  if (!wait.empty()) words += "\n  try again in " + printable(wait) + " s";
  return {code_of(answer.status), std::move(words)};
}

}  // namespace trainyard::client
