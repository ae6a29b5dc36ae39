// A hello as it travels, and what keeps two processes from talking: another group, another configuration, no version in
// common. Pure functions.
#pragma once

#include <optional>
#include <string>

#include <spindrift/core/bytes.hpp>
#include <spindrift/views/messages.hpp>

namespace spindrift::views {

/// The node that hears a message, and the connection on which it does.
struct Hearer {
  NodeId self;
  ConnectionWords words;
};

/// For that node, on the connection of these words.
void put_hello(ByteWriter& to, const GroupIdentity& identity, const Hello& hello, NodeId whom, const ConnectionWords& words);
/// A Hello, or a Mismatch. Nothing: no hello.
[[nodiscard]] std::optional<Message> get_hello(ByteReader from, const GroupIdentity& ours, const Hearer& hearer);
/// The peer speaks `theirs`, and nothing of what this process does. `fresh_as`: as Mismatch has it.
[[nodiscard]] Message no_common_version(const GroupIdentity& ours, const std::string& theirs, std::uint64_t fresh_as = 0);

}  // namespace spindrift::views
