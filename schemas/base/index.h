// A number that counts something, as an index of a container.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard {

constexpr std::size_t index_of(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace trainyard
