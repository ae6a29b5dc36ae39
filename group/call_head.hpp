// The head of a replicated call, as a message in the order or a private one.
#pragma once

#include <cstdint>

namespace spindrift::replicated {

/// The replicas' part in a call.
enum class CallAsk : std::uint32_t {
  all,     ///< all apply and answer
  apply,   ///< all apply; only the caller's own replica has an answer
  own,     ///< only the caller's own replica runs it
  direct,  ///< the replica that gets it as a private message runs it: a query
  one,     ///< a query that the replica alone runs whose node comes before the arguments, in 8 bytes
  once,    ///< all apply what the client's request before the arguments asks, unless that was done before
  open,    ///< all open a session for a client
  close,   ///< all end one
};

struct ReplicatedCallHead {
  std::uint64_t digest;  ///< of the list of methods
  std::uint64_t call;
  std::uint32_t method;
  CallAsk ask;
  [[nodiscard]] bool is_ordered() const noexcept { return ask <= CallAsk::close && ask != CallAsk::direct; }
  [[nodiscard]] bool is_of_client() const noexcept { return ask >= CallAsk::once; }
  [[nodiscard]] bool has_method() const noexcept { return ask <= CallAsk::once; }
};
static_assert(sizeof(ReplicatedCallHead) == 24);

}  // namespace spindrift::replicated
