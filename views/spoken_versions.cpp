// The release's own versions alone: a test links another file in its place, and is a later release.
#include <spindrift/views/versions.hpp>

namespace spindrift::views {

Versions spoken_versions() noexcept { return {17, 21}; }

}  // namespace spindrift::views
