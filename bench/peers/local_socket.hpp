// A connection to a server on loopback, for clients that speak a protocol without a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::peers {

/// Its calls throw Exception: resource.
class LocalSocket {
 public:
  explicit LocalSocket(std::uint16_t port);

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// Keeps it until `flush`.
  void put(std::string_view bytes) { output_ += bytes; }
  /// Sends all of it, and waits where the server takes no more.
  void flush();
  /// Takes what has come; never waits.
  void fill();
  /// All that has come and was not dropped.
  [[nodiscard]] std::string_view input() const noexcept { return std::string_view(input_).substr(dropped_); }
  void drop(std::size_t bytes);

 private:
  FileDescriptor socket_;
  std::string output_;
  std::string input_;
  std::size_t dropped_ = 0;
};

}  // namespace spindrift::peers
