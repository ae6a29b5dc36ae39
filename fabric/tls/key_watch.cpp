// The consequences of a look at the files of keys.
#include <spindrift/fabric/tls/key_watch.hpp>

#include <spindrift/core/log.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::tls {

bool KeyWatch::look(Time now) {
  if (now < next_look_) return false;
  next_look_ = now + between_looks;
  const std::uint64_t before = credentials_->revision();
  const auto changed = credentials_->reload();
  if (!changed) {
    std::string why = changed.error().to_string();
    if (why != wrong_) log::error(log::Room::fabric, "new keys are not taken", {{"reason", why}});
    wrong_ = std::move(why);
    return credentials_->revision() != before;
  }
  wrong_.clear();
  if (*changed) log::warn(log::Room::fabric, "other keys are in force", {{"identity", credentials_->identity().uri()}});
  return *changed;
}

}  // namespace spindrift::fabric::tls
