// The ways by which parameters travel between tasks, and what users call them.
#pragma once

#include <string>
#include <vector>

#include "schemas/types/names.h"

namespace trainyard {

// The best first.
enum class Transport { shared_memory, unix_socket, tcp };

inline constexpr NameTable<Transport, 3> transport_names{
    {{Transport::shared_memory, "shared_memory"},
     {Transport::unix_socket, "unix"},
     {Transport::tcp, "tcp"}}};

// By which a task is told the best that it may try: the operator's choice, not the job's.
inline constexpr char transport_variable[] = "TRAINYARD_TRANSPORT";

// All names, for options that take one.
inline std::vector<std::string> all_transport_names() {
  std::vector<std::string> names;
  for (const auto& [transport, name] : transport_names) names.emplace_back(name);
  return names;
}

}  // namespace trainyard
