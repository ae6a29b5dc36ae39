// The members that a client may ask, whose turn it is, and why the others are of no use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::clients {

class MemberChoice {
 public:
  /// At least one. `first`: any number, so that not all clients begin with the same.
  MemberChoice(std::vector<std::string> given, std::uint64_t first);
  [[nodiscard]] const std::string& now() const noexcept { return all_[at_]; }
  /// To the next one, since this one is of no use for that reason. True: all had their turn since the last good one.
  bool next(Error why);
  /// This one is of use.
  void good() noexcept;
  /// The members as one of them has it: they come first; those that were given stay.
  void learn(const std::vector<std::string>& members);
  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }

  /// The reason of each member that was of no use when it had its last turn. Empty: none was.
  [[nodiscard]] std::string reasons() const;
  /// The reason that says best what is to be done where no member is of use: that of one that took no proof, or gave none,
  /// else any. Null: some member had no turn yet, or was of use.
  [[nodiscard]] const Error* reason_of_all() const;
  /// Whether each member takes no proof of this client, or gives none: another attempt is no better.
  [[nodiscard]] bool all_refuse() const;

 private:
  const std::vector<std::string> given_;
  std::vector<std::string> all_;
  std::size_t at_;
  std::size_t in_vain_ = 0;
  std::map<std::string, Error> reasons_;  // by address
};

}  // namespace spindrift::clients
