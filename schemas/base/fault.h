// What is wrong with a document, and where. Every fault is noted and reading goes on, so that one
// answer names them all.
#pragma once

#include <string>

namespace trainyard {

// wrong: the user must change it. not_yet: it is right by the contract, but this version cannot do
// it.
enum class FaultKind { wrong, not_yet };

struct Fault {
  std::string pointer;  // RFC 6901: "/roles/ps"; "" = the whole document
  std::string message;  // "must be 1 or more, got 0"
  FaultKind kind = FaultKind::wrong;
  bool operator==(const Fault&) const = default;
};

}  // namespace trainyard
