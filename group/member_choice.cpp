// Turns of members, and what came of each.
#include <spindrift/group/member_choice.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::clients {
namespace {

bool is_refusal(const Error& why) noexcept {
  return why.kind() == ErrorKind::refused || why.kind() == ErrorKind::unsupported;
}

/// The sentence and its causes, without what is to be done.
std::string words_of(const Error& why) {
  std::string words = why.message();
  for (const Error* cause = why.cause(); cause != nullptr; cause = cause->cause()) words += " (" + cause->message() + ")";
  return words;
}

}  // namespace

MemberChoice::MemberChoice(std::vector<std::string> given, std::uint64_t first)
    : given_(std::move(given)), all_(given_), at_(given_.empty() ? 0 : first % given_.size()) {
  CHECK(!given_.empty());
}

bool MemberChoice::next(Error why) {
  reasons_.insert_or_assign(now(), std::move(why));
  at_ = (at_ + 1) % all_.size();
  if (++in_vain_ < all_.size()) return false;
  in_vain_ = 0;
  return true;
}

void MemberChoice::good() noexcept {
  in_vain_ = 0;
  reasons_.erase(now());
}

void MemberChoice::learn(const std::vector<std::string>& members) {
  const std::string present = now();
  std::vector<std::string> all;
  const auto add = [&](const std::string& each) {
    if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
  };
  for (const std::string& each : members) add(each);
  for (const std::string& each : given_) add(each);
  add(present);
  at_ = static_cast<std::size_t>(std::find(all.begin(), all.end(), present) - all.begin());
  all_ = std::move(all);
  std::erase_if(reasons_, [&](const auto& each) { return std::find(all_.begin(), all_.end(), each.first) == all_.end(); });
}

std::string MemberChoice::reasons() const {
  std::string words;
  for (const auto& [address, why] : reasons_) words += (words.empty() ? "" : "; ") + address + ": " + words_of(why);
  return words;
}

const Error* MemberChoice::reason_of_all() const {
  if (reasons_.size() < all_.size()) return nullptr;
  const auto refusal = std::ranges::find_if(reasons_, [](const auto& each) { return is_refusal(each.second); });
  return refusal != reasons_.end() ? &refusal->second : &reasons_.begin()->second;
}

bool MemberChoice::all_refuse() const {
  return reasons_.size() == all_.size() &&
         std::ranges::all_of(reasons_, [](const auto& each) { return is_refusal(each.second); });
}

}  // namespace spindrift::clients
