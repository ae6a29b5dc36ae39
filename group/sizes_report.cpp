// Comparing what the view says with what the file does.
#include <spindrift/group/sizes_report.hpp>

#include <algorithm>

#include <spindrift/core/log.hpp>

namespace spindrift::group {
namespace {

void add(std::string& text, const char* key, std::uint64_t in_group, std::uint64_t here) {
  if (in_group == here) return;
  text += (text.empty() ? "" : ", ") + std::string(key) + " is " + std::to_string(in_group) + " in the group and " +
          std::to_string(here) + " here";
}

}  // namespace

std::string differences(std::span<const RingSizes> group, std::span<const RingSizes> here) {
  std::string text;
  for (const RingSizes& in_group : group) {
    const auto own = std::ranges::find(here, in_group.subgroup, &RingSizes::subgroup);
    if (own == here.end()) continue;
    std::string of_it;
    add(of_it, "window_size", in_group.window_messages, own->window_messages);
    add(of_it, "ring_size", in_group.ring_bytes, own->ring_bytes);
    if (!of_it.empty()) text += (text.empty() ? "subgroup " : "; subgroup ") + in_group.subgroup + ": " + of_it;
  }
  return text;
}

const std::string& SizesReport::on_view(const View& view) {
  const std::string before = std::exchange(words_, differences(view.roster.sizes, here_));
  if (words_ == before) return words_;
  if (words_.empty()) {
    log::info(log::Room::group, "the group's rings are of the sizes that this node's file says", {});
    return words_;
  }
  log::warn(log::Room::group, "the group goes by other sizes of rings than this node's file says",
            {{"what", words_},
             {"fix", "while members are restarted one after another with a changed file, nothing: the group takes its sizes "
                     "when the files of all members say them; else, as behind spindrift group change-subgroup, write the "
                     "group's sizes into the file"}});
  return words_;
}

}  // namespace spindrift::group
