// A replicated object of tests of clients: counts how often each was paid for.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include <spindrift/group/replicated.hpp>

namespace spindrift {

class Till {
 public:
  std::uint64_t pay(const std::string& who) {
    if (who.empty()) throw std::invalid_argument("nobody");
    return ++calls_[who];
  }
  [[nodiscard]] std::uint64_t calls(const std::string& who) const {
    const auto found = calls_.find(who);
    return found == calls_.end() ? 0 : found->second;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls_);
  }
  using Methods = Replicates<&Till::pay, &Till::calls>;

 private:
  std::map<std::string, std::uint64_t> calls_;
};

/// A client's request settles what is so far before it.
inline constexpr std::uint64_t unsettled = 8;
/// So many requests of a client are on their way at once.
inline constexpr std::uint64_t under_way = 32;

/// A request as every member that is asked for it makes it.
inline Future<std::uint64_t> pay(Replicated<Till>& till, const ClientSessionId& session, std::uint64_t number) {
  const std::uint64_t reach = under_way + unsettled;
  return till.update_once<&Till::pay>({session, number, number < reach ? 0 : number - reach}, "Ann");
}

}  // namespace spindrift
