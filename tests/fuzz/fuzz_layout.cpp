// A layout of any bytes, as a flag gives it: it describes a view that the protocol can rest on, or it is refused usefully.
#include <spindrift/core/config/config.hpp>

#include <bit>
#include <set>
#include <string>

#include "fuzz.hpp"

namespace {

using spindrift::fuzz::expect;

void expect_sound(const spindrift::View& view) {
  expect(!view.members.empty(), "a view has members");
  std::set<std::string> names;
  std::set<std::string> topics;
  for (const auto& subgroup : view.subgroups) {
    expect(names.insert(subgroup.name).second, "subgroup names are unique");
    for (const auto& topic : subgroup.topics) expect(topics.insert(topic).second, "topics are unique");
    expect(!subgroup.members.empty() && !subgroup.senders.empty(), "a subgroup has members and senders");
    for (const auto sender : subgroup.senders) expect(subgroup.member_position(sender).has_value(), "senders are members");
    for (const auto member : subgroup.members) expect(view.rank_of(member).has_value(), "members are the view's");
    const spindrift::Profile& profile = subgroup.profile;
    expect(std::has_single_bit(profile.ring_bytes) && profile.ring_bytes >= 4096 && profile.window_messages >= 1 &&
               profile.message_bytes_max <= profile.ring_bytes / 2 - 8,
           "a profile is one that a ring can have");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string layout(spindrift::fuzz::as_text(data, size));
  const auto config = spindrift::Config::parse("", "fuzz.cfg", {{.name = "LAYOUT/json_layout", .value = layout}});
  if (!config) {
    const spindrift::Error& error = config.error();
    expect(!error.message().empty() && !error.place().empty() && !error.fix().empty(),
           "an error has a message, a place and a fix");
    return 0;
  }
  if (const auto view = config->view()) expect_sound(*view);
  return 0;
}
