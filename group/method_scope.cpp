// The scopes of the calling thread, and what a field may do in which.
#include <spindrift/group/method_scope.hpp>

#include <string>
#include <utility>

#include <spindrift/group/replica_channel.hpp>

namespace spindrift::replicated {
namespace {

thread_local const MethodScope* innermost_scope = nullptr;

Error unlogged(const ReplicaProgress& progress) {
  return Error(ErrorKind::bad_argument,
               "a Persistent field has no versions: the log of its subgroup gives it those, and "
               "this one is not logged")
      .at(place_of_field(&progress))
      .fix("let the layout say \"storage\": \"logged\" for the subgroup, or give the object a plain field");
}

Error no_update(const ReplicaProgress* progress, const std::string& where) {
  return Error(ErrorKind::bad_argument, "a Persistent field was changed " + where)
      .at(place_of_field(progress))
      .fix("change it in a non-const method of its object that is called by update or post");
}

void require_log(const ReplicaProgress& progress) {
  if (!progress.channel().logged()) throw Exception(unlogged(progress));
}

}  // namespace

ReplicaProgress::Message::Message(ReplicaProgress& progress, std::uint64_t version) noexcept
    : progress_(progress), version_(version) {
  progress_.under_way_ = version;
}
ReplicaProgress::Message::~Message() {
  progress_.under_way_.reset();
  progress_.applied_end_.store(version_ + 1, std::memory_order_release);
}

MethodScope::MethodScope(const ReplicaProgress& progress, Kind kind, std::optional<std::uint64_t> version) noexcept
    : progress_(progress), before_(innermost_scope), kind_(kind), version_(version) {
  const MethodScope* const outer = of(&progress);
  if (!version_ && outer != nullptr) version_ = outer->version_;
  applied_end_ = version_ ? *version_ + 1 : progress.applied_end();
  innermost_scope = this;
}
MethodScope::~MethodScope() { innermost_scope = before_; }

const MethodScope* MethodScope::innermost() noexcept { return innermost_scope; }

const MethodScope* MethodScope::of(const ReplicaProgress* progress) noexcept {
  const MethodScope* scope = innermost_scope;
  while (scope != nullptr && &scope->progress_ != progress) scope = scope->before_;
  return scope;
}

std::uint64_t MethodScope::time_ns() const { return progress_.channel().time_ns(version_.value()); }

// Messages that follow in the log have no earlier times.
std::uint64_t MethodScope::settled_ns() const { return version_ ? time_ns() : progress_.channel().settled_ns(applied_end_); }

std::string place_of_field(const ReplicaProgress* progress) {
  if (progress == nullptr) return "a field that is in no replicated object";
  const ReplicaChannel& channel = progress->channel();
  return "subgroup " + channel.subgroup() + ", node " + std::to_string(channel.self().value());
}

const ReplicaProgress* maker_of_field() {
  if (innermost_scope == nullptr) return nullptr;
  require_log(innermost_scope->progress());
  return &innermost_scope->progress();
}

const MethodScope* update_of_field(const ReplicaProgress*& home, bool has_versions) {
  const MethodScope* const scope = home == nullptr ? innermost_scope : MethodScope::of(home);
  if (scope == nullptr) {
    if (home == nullptr && !has_versions) return nullptr;
    throw Exception(no_update(nullptr, "on a thread that is in no method of its object"));
  }
  switch (scope->kind()) {
    case MethodScope::Kind::making:
      if (!has_versions) return nullptr;
      break;
    case MethodScope::Kind::query: throw Exception(no_update(&scope->progress(), "by a query"));
    case MethodScope::Kind::update: break;
  }
  if (!scope->version()) throw Exception(no_update(&scope->progress(), "while its object was made"));
  require_log(scope->progress());
  home = &scope->progress();
  return scope;
}

void refuse_times_in_update(const ReplicaProgress* home) {
  const MethodScope* const scope = MethodScope::of(home);
  if (home == nullptr || scope == nullptr || scope->kind() != MethodScope::Kind::update) return;
  throw Exception(Error(ErrorKind::bad_argument,
                        "an update read a Persistent field by time, and times differ from member to "
                        "member")
                      .at(place_of_field(home))
                      .fix("read by version in updates, or give the update the value as an argument"));
}

}  // namespace spindrift::replicated
