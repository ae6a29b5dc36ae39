// Parts become plans, as the configuration's entries do. A function's choice is, for each view, a plan that names members.
#include <spindrift/core/config/layout_parts.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/config/allocate.hpp>
#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/config/load.hpp>
#include <spindrift/core/config/resolve.hpp>
#include <spindrift/core/shards.hpp>

namespace spindrift {

using config::Layout;
using config::SubgroupPlan;

LayoutPart& LayoutPart::of(std::vector<NodeId> members) {
  members_ = std::move(members);
  return *this;
}
LayoutPart& LayoutPart::chosen_by(Choice choice) {
  choice_ = std::move(choice);
  return *this;
}
LayoutPart& LayoutPart::senders(std::vector<NodeId> senders) {
  senders_ = std::move(senders);
  return *this;
}
LayoutPart& LayoutPart::at_least(std::uint32_t members) {
  minimum_ = members;
  return *this;
}
LayoutPart& LayoutPart::at_most(std::uint32_t members) {
  maximum_ = members;
  return *this;
}
LayoutPart& LayoutPart::shards(std::uint32_t count) {
  shards_ = count;
  return *this;
}
LayoutPart& LayoutPart::unordered() {
  mode_ = DeliveryMode::unordered;
  return *this;
}
LayoutPart& LayoutPart::logged() {
  storage_ = SubgroupStorage::logged;
  return *this;
}
LayoutPart& LayoutPart::history(const HistoryBounds& bounds) {
  history_ = bounds;
  return *this;
}
LayoutPart& LayoutPart::profile(std::string name) {
  profile_ = std::move(name);
  return *this;
}

// Mistakes that resolve does not find, as it sees plans alone.
void LayoutPart::check(std::vector<Error>& problems) const {
  const auto report = [&](std::string message, std::string fix) {
    const std::string whole = fmt::format("subgroup \"{}\": {}", name_, message);
    problems.push_back(Error(ErrorKind::bad_config, whole).fix(std::move(fix)));
  };
  const bool plain = std::all_of(name_.begin(), name_.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
  const bool fits = plain && !name_.empty() && name_.size() <= 64;
  if (!fits) report("it needs another name", "use 1 to 64 of A-Z, a-z, 0-9, _, . and -");
  if (members_ && choice_) report("its members are named, and chosen by a function", "call of or chosen_by, not both");
  if (choice_ && !senders_.empty()) report("a function chooses its members, but not its senders", "leave out senders");
  if (members_ && std::set(members_->begin(), members_->end()).size() != members_->size()) {
    report("it names a node twice", "name each once");
  }
  if (members_ && members_->empty()) report("it names no members", "name at least one, or leave out of to mean all");
  if (minimum_ < 1) report("at_least is 0", "let it have at least 1 member");
  if (storage_ == SubgroupStorage::logged && mode_ == DeliveryMode::unordered) {
    report("it is logged, and unordered: its members have no order in common to keep", "leave out logged, or unordered");
  }
  if (shards_ && *shards_ < 1) report("it has no shard", "cut it into at least 1");
  if (shards_ && !senders_.empty()) report("senders belong to one shard", "leave them out: all members of a shard send");
  if (maximum_ && !shards_) report("without shards it has all members that are there", "leave out at_most, or call shards");
  if (maximum_ && *maximum_ < minimum_) {
    report(fmt::format("at_most, {}, is less than at_least, {}", *maximum_, minimum_), "raise one or lower the other");
  }
}

SubgroupPlan LayoutPart::plan() const {
  SubgroupPlan plan;
  plan.name = name_;
  plan.members = members_;
  plan.assigned = shards_.has_value();
  plan.minimum = minimum_;
  plan.maximum = maximum_.value_or(member_count_max);
  plan.senders = senders_;
  plan.mode = mode_;
  plan.storage = storage_;
  plan.history = history_;
  plan.profile = profile_;
  return plan;
}

/// The plans, and the function that chooses the members of each; null: none does.
struct LayoutParts::Choices {
  Layout layout;
  std::vector<LayoutPart::Choice> choices;

  explicit Choices(const std::vector<LayoutPart>& parts) {
    for (const LayoutPart& part : parts) {
      SubgroupPlan plan = part.plan();
      if (plan.assigned) plan.pool = config::next_pool(layout);
      constexpr std::size_t most = config::subgroup_count_max;
      const std::size_t left = most + 1 - std::min(layout.subgroups.size(), most);  // one too many is reported
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(part.shards_.value_or(1), left));
      for (std::uint32_t shard = 0; shard < count; ++shard) {
        plan.name = shard_name(part.name_, shard);
        layout.subgroups.push_back(plan);
        choices.push_back(part.choice_);
      }
    }
  }

  /// The plans of the view of `members`. A function is called once for all shards of its part.
  [[nodiscard]] Layout of_view(const std::vector<NodeId>& members) const {
    Layout chosen = layout;
    for (std::size_t i = 0; i < chosen.subgroups.size(); ++i) {
      SubgroupPlan& plan = chosen.subgroups[i];
      if (!choices[i]) continue;
      const bool same_part = i > 0 && plan.pool != 0 && chosen.subgroups[i - 1].pool == plan.pool;
      plan.members = same_part ? chosen.subgroups[i - 1].members : choose(choices[i], members);
    }
    return chosen;
  }

  /// Each once, in rank order, and none that is not in the view.
  [[nodiscard]] static std::vector<NodeId> choose(const LayoutPart::Choice& choice, const std::vector<NodeId>& members) {
    const std::vector<NodeId> named = choice(members);
    const std::set<NodeId> inside(named.begin(), named.end());
    std::vector<NodeId> chosen;
    std::copy_if(members.begin(), members.end(), std::back_inserter(chosen), [&](NodeId id) { return inside.contains(id); });
    return chosen;
  }

  /// The view before without members that are chosen no more: they do not stay.
  [[nodiscard]] View before(const View& previous, const Layout& now) const {
    View kept = previous;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (!choices[i]) continue;
      const std::vector<NodeId>& chosen = *now.subgroups[i].members;
      std::erase_if(kept.subgroups[i].members,
                    [&](NodeId id) { return std::find(chosen.begin(), chosen.end(), id) == chosen.end(); });
    }
    return kept;
  }
};

LayoutParts::~LayoutParts() = default;

LayoutParts& LayoutParts::add(LayoutPart part) {
  parts_.push_back(std::move(part));
  return *this;
}

std::vector<Error> LayoutParts::problems(const Choices& choices) const {
  std::vector<Error> problems;
  if (parts_.empty()) {
    problems.push_back(Error(ErrorKind::bad_config, "the layout has no part").fix("add at least one: LayoutPart(\"main\")"));
  }
  for (const LayoutPart& part : parts_) part.check(problems);
  if (choices.layout.subgroups.size() > config::subgroup_count_max) {
    problems.push_back(Error(ErrorKind::bad_config, fmt::format("the layout has more than {} subgroups and shards",
                                                                config::subgroup_count_max))
                           .fix("use fewer"));
  }
  std::set<std::string> names;
  for (const SubgroupPlan& plan : choices.layout.subgroups) {
    if (names.insert(plan.name).second) continue;
    problems.push_back(Error(ErrorKind::bad_config, fmt::format("two parts of the layout are called \"{}\"", plan.name))
                           .fix("give one of the two another name"));
  }
  const config::LayoutSource source{{}, name_, 1};
  config::check_logged(choices.layout, plans_->unloggable, source, problems);
  config::check_histories(choices.layout, plans_->profiles, source, problems);
  if (problems.empty()) {
    static_cast<void>(config::resolve(choices.of_view(members_), members_, plans_->profiles, source, problems));
  }
  return problems;
}

Result<LayoutFunction> LayoutParts::function() const {
  if (plans_ == nullptr) return config::no_layout(name_);
  auto choices = std::make_shared<const Choices>(parts_);
  if (const std::vector<Error> found = problems(*choices); !found.empty()) {
    const std::string more = found.size() == 1 ? "" : fmt::format(" (the first of {} problems)", found.size());
    return Error(ErrorKind::bad_config, found.front().message() + more).at("LayoutParts").fix(found.front().fix());
  }
  return LayoutFunction([choices = std::move(choices), plans = plans_](const std::vector<NodeId>& members,
                                                                       const View* previous) -> std::vector<SubgroupView> {
    const Layout layout = choices->of_view(members);
    if (previous == nullptr) return config::allocate(layout, plans->profiles, members, nullptr);
    const View kept = choices->before(*previous, layout);
    return config::allocate(layout, plans->profiles, members, &kept);
  });
}

}  // namespace spindrift
