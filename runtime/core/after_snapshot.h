// Whether training goes on after a snapshot that the chief wants.
#pragma once

namespace trainyard::runtime {

enum class AfterSnapshot { goes_on, stops };

}  // namespace trainyard::runtime
