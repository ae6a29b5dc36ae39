// Tokens of endpoints whose peers are the bench's own.
#pragma once

#include <cerrno>

#include <sys/random.h>

#include <spindrift/core/result.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>

namespace spindrift::bench {

class RandomTokens final : public rpc::TokenSource {
 public:
  [[nodiscard]] std::uint64_t next_token() override {
    std::uint64_t token = 0;
    if (::getrandom(&token, sizeof token, 0) != sizeof token) throw Exception(system_error("getrandom", errno));
    return token;
  }
};

}  // namespace spindrift::bench
