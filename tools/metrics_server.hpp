// A server of HTTP with one page: GET /metrics.
#pragma once

#include <functional>
#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

#include "bounded_server.hpp"

namespace spindrift::tools {

class MetricsServer {
 public:
  /// Makes the page; an error is the answer "503", with its text. Called by several threads at once.
  using Page = std::function<Result<std::string>()>;

  /// Serves from now on. Throws resource.
  MetricsServer(FileDescriptor listening, const char* content_type, Page page);

  static constexpr int threads = 4;
  static constexpr int waiting_max = BoundedServer::waiting_max;

 private:
  BoundedServer server_;
};

}  // namespace spindrift::tools
