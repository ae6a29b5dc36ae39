// Loading a library without letting it, or what it brings along, change how the process takes signals.
#pragma once

namespace spindrift::fabric::ofi {

/// dlopen(name, RTLD_NOW | RTLD_LOCAL), after which no signal goes to a handler that came with the library. A handler that
/// another thread sets meanwhile stays. Null: see dlerror.
[[nodiscard]] void* load_library(const char* name);

}  // namespace spindrift::fabric::ofi
