// Reading rights, and judging by them.
#include <spindrift/core/config/client_rights.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

constexpr std::string_view any = "*";
constexpr std::size_t name_bytes_max = 255;

bool is_name(std::string_view text) {
  const auto fits = [](char each) { return each > ' ' && each <= '~' && each != '@' && each != ':' && each != '*'; };
  return !text.empty() && text.size() <= name_bytes_max && std::ranges::all_of(text, fits);
}

Error no_entry(std::string_view entry) {
  return Error(ErrorKind::bad_input, in_quotes(entry) + " is no right of a client")
      .fix("write CLIENT@SUBGROUP:query or CLIENT@SUBGROUP:update, as teller@ledger:update; * is any client, or any "
           "subgroup");
}

}  // namespace

Result<ClientRights> ClientRights::parse(std::string_view text) {
  ClientRights rights;
  if (trimmed(text).empty()) return rights;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t at = entry.find('@');
    const std::size_t colon = entry.find(':', at == entry.npos ? 0 : at);
    if (at == entry.npos || colon == entry.npos) return no_entry(entry);
    const std::string_view client = entry.substr(0, at);
    const std::string_view subgroup = entry.substr(at + 1, colon - at - 1);
    const std::string_view right = entry.substr(colon + 1);
    const bool named = (client == any || is_name(client)) && (subgroup == any || is_name(subgroup));
    if (!named || (right != "query" && right != "update")) return no_entry(entry);
    rights.rules_.push_back(
        {std::string(client), std::string(subgroup), right == "query" ? Right::query : Right::update});
  }
  return rights;
}

bool ClientRights::allow(std::string_view client, std::string_view subgroup, Right right) const noexcept {
  if (!bounded()) return true;
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    return right <= rule.most && (rule.client == any || rule.client == client) &&
           (rule.subgroup == any || rule.subgroup == subgroup);
  });
}

}  // namespace spindrift::config
