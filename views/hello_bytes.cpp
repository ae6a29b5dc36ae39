// Writing and checking hellos.
#include <spindrift/views/hello_bytes.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/views/hello_proof.hpp>

namespace spindrift::views {
namespace {

constexpr std::size_t group_name_bytes = 32;

Message mismatch(std::string what, std::string fix, std::uint64_t fresh_as) {
  return Mismatch{Error(ErrorKind::refused, std::move(what)).fix(std::move(fix)), fresh_as};
}

}  // namespace

Message no_common_version(const GroupIdentity& ours, const std::string& theirs, std::uint64_t fresh_as) {
  return mismatch("no version of the protocol is spoken by both: " + to_string(ours.versions) + " here, and " + theirs +
                      " there",
                  "run releases of spindrift on all nodes that have a version in common: spindrift --version", fresh_as);
}

std::string how_to_compare() {
  return "compare `spindrift config show --effective FILE` on both hosts, or what --set and the environment say: every key "
         "must be equal that `spindrift config keys` calls the group's, such as suspect_after_ms, and what the layout "
         "means; and programs with a layout in C++ must have the same";
}

void put_hello(ByteWriter& to, const GroupIdentity& identity, const Hello& hello, NodeId whom,
               const ConnectionWords& words) {
  std::array<char, group_name_bytes> name{};
  std::copy_n(identity.group_name.begin(), std::min(identity.group_name.size(), group_name_bytes), name.begin());
  to.put(hello.node, std::uint32_t{hello.fresh ? 1U : 0U}, hello.incarnation, hello.view, hello.versions.oldest,
         hello.versions.newest, prove(identity, hello, whom, words.own, words.peer), name);
}

std::optional<Message> get_hello(ByteReader from, const GroupIdentity& ours, const Hearer& hearer) {
  Hello hello;
  hello.node = from.get<NodeId>();
  const auto fresh = from.get<std::uint32_t>();
  hello.fresh = fresh == 1;
  hello.incarnation = from.get<std::uint64_t>();
  hello.view = from.get<ViewId>();
  hello.versions = {from.get<std::uint32_t>(), from.get<std::uint32_t>()};
  const auto proof = from.get<HelloProof>();
  const auto raw = from.get_bytes(group_name_bytes);
  const bool ordered = hello.versions.oldest != 0 && hello.versions.oldest <= hello.versions.newest;
  if (!from.complete() || fresh > 1 || hello.incarnation == 0 || !ordered) return std::nullopt;
  const auto end = std::find(raw.begin(), raw.end(), std::byte{0});
  if (std::any_of(end, raw.end(), [](std::byte byte) { return byte != std::byte{0}; })) return std::nullopt;
  const std::string name = printable(raw.first(static_cast<std::size_t>(end - raw.begin())));

  const std::uint64_t fresh_as = hello.fresh ? hello.incarnation : 0;
  if (name != ours.group_name) {
    return mismatch("group names differ: \"" + ours.group_name + "\" and \"" + name + "\"",
                    "give both nodes the same [SPINDRIFT] group_name", fresh_as);
  }
  if (!hello.versions.meets(ours.versions)) return no_common_version(ours, to_string(hello.versions), fresh_as);
  if (!equal(proof, prove(ours, hello, hearer.self, hearer.words.peer, hearer.words.own))) {
    return mismatch("configurations differ in what the whole group must share", how_to_compare(), fresh_as);
  }
  return hello;
}

}  // namespace spindrift::views
