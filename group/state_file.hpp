// A state on its way, kept in an unnamed file: written and read by the application as a stream, by the protocol in pieces,
// so that a large state takes no more memory than its pieces.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>

#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

/// Keeps what `save` writes. Throws resource, and what `save` throws.
[[nodiscard]] std::unique_ptr<views::StateReader> keep_state(const std::function<void(std::ostream&)>& save);
/// Collects a state and, when it is complete, gives it to `load`. Throws resource.
[[nodiscard]] std::unique_ptr<views::StateWriter> collect_state(std::function<void(std::istream&)> load);

}  // namespace spindrift::group
