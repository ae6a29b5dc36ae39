// Versions in words.
#include <spindrift/views/versions.hpp>

namespace spindrift::views {

std::string to_string(const Versions& versions) {
  const std::string oldest = std::to_string(versions.oldest);
  if (versions.oldest == versions.newest) return "version " + oldest;
  return "versions " + oldest + " to " + std::to_string(versions.newest);
}

}  // namespace spindrift::views
