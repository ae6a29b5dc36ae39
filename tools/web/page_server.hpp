// A server of the flight's page for browsers: of a few files that are part of this program, and a stream of events. People
// who reach the address may look, and can change nothing.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include <spindrift/core/file_descriptor.hpp>

#include "bounded_server.hpp"
#include "web/frame_hub.hpp"

namespace spindrift::tools {

/// Whether a request's host is an address, or this host by its own name. A page of somebody else's name that leads here is
/// none of ours: a browser would let its scripts read what they must not.
[[nodiscard]] bool is_address(const std::string& host);

class PageServer {
 public:
  static constexpr int streams_max = 8;  ///< of events, at a time

  /// `hub` has the events, and outlives the server, which begins each stream with what `beginning` returns. Throws resource.
  PageServer(FileDescriptor listening, FrameHub& hub, std::function<std::string()> beginning);
  /// Ends all streams.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  [[nodiscard]] int streams() const noexcept { return streams_; }

 private:
  [[nodiscard]] HttpAnswer answer(const HttpRequest& request);
  [[nodiscard]] HttpAnswer stream();

  FrameHub& hub_;
  std::function<std::string()> beginning_;
  std::atomic<int> streams_{0};
  BoundedServer server_;
};

}  // namespace spindrift::tools
