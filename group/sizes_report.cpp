// Comparing what the view says with what the file does.
#include <spindrift/group/sizes_report.hpp>

#include <algorithm>

#include <spindrift/core/log.hpp>

namespace spindrift::group {
namespace {

// It compares the same subgroups, and tells what differs with both of its values, which `says` puts into words.
template <typename Says>
std::string compared(std::span<const RingSizes> one, std::span<const RingSizes> other, const Says& says) {
  std::string text;
  const auto add = [&](std::string& to, const char* key, std::uint64_t first, std::uint64_t second) {
    if (first == second) return;
    to += (to.empty() ? "" : ", ") + std::string(key) + says(std::to_string(first), std::to_string(second));
  };
  for (const RingSizes& each : one) {
    const auto same = std::ranges::find(other, each.subgroup, &RingSizes::subgroup);
    if (same == other.end()) continue;
    std::string of_it;
    add(of_it, "window_size", each.window_messages, same->window_messages);
    add(of_it, "ring_size", each.ring_bytes, same->ring_bytes);
    if (!of_it.empty()) text += (text.empty() ? "subgroup " : "; subgroup ") + each.subgroup + ": " + of_it;
  }
  return text;
}

}  // namespace

std::string differences(std::span<const RingSizes> group, std::span<const RingSizes> here) {
  return compared(group, here, [](const std::string& in_group, const std::string& own) {
    return " is " + in_group + " in the group and " + own + " here";
  });
}

std::string changes(std::span<const RingSizes> before, std::span<const RingSizes> now) {
  return compared(before, now,
                  [](const std::string& was, const std::string& is) { return " was " + was + " and is " + is; });
}

const std::string& SizesReport::on_view(const View& before, const View& view) {
  if (const std::string news = changes(before.roster.sizes, view.roster.sizes); !news.empty())
    log::warn(log::Room::group, "the group takes other sizes of rings", {{"what", news}, {"view", view.id}});
  const std::string said = std::exchange(words_, differences(view.roster.sizes, here_));
  const bool commanded = view.roster.filed == Digest();
  if (!words_.empty())
    words_ += commanded ? "; a command has set the group's, and only commands change them"
                        : "; the group keeps its own until the files of all members that are there say the same";
  if (words_ == said) return words_;
  if (words_.empty()) {
    log::info(log::Room::group, "the group's rings are of the sizes that this node's file says", {});
    return words_;
  }
  log::warn(log::Room::group, "the group goes by other sizes of rings than this node's file says",
            {{"what", words_},
             {"fix", commanded ? "write the group's sizes into the file, or set others by spindrift group change-subgroup"
                               : "nothing, while members are restarted one after another with a changed file; else write "
                                 "the group's sizes into the file"}});
  return words_;
}

}  // namespace spindrift::group
