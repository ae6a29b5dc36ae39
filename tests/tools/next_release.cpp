// The release that comes next, as far as other members can tell: it is linked in place of the library's own file.
#include <spindrift/views/versions.hpp>

namespace spindrift::views {

Versions spoken_versions() noexcept { return {18, 22}; }

}  // namespace spindrift::views
