// Rows of a table by their ids.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// y [.., size]: row ids[i] of table [rows, size] for each id; ids are 0 .. rows - 1.
void embed(ConstTensor table, std::span<const std::int32_t> ids, Tensor y,
           const Threads& threads = {});

// Memory that embed_gradient asks for, of so many ids.
std::size_t embed_gradient_bytes(std::int64_t ids);

// table_gradient [rows, size] = for each id the sum of its rows of y_gradient, one position after
// another; Write::add: these are added to what is there in that order. Zeros of other ids.
// `scratch` begins at a cache line's border.
void embed_gradient(std::span<const std::int32_t> ids, ConstTensor y_gradient,
                    Tensor table_gradient, Write write, std::span<std::byte> scratch,
                    const Threads& threads = {});

}  // namespace trainyard::runtime
