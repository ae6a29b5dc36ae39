// Members of the own host before those of others.
#include <spindrift/group/feed_search.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::group {

Result<std::unique_ptr<FeedSearch>> FeedSearch::make(const Config& config, std::string subgroup,
                                                     std::optional<NodeId> source, const Clock& clock) {
  SPINDRIFT_TRY_ASSIGN(auto directory, GuardedDirectory::open(config.runtime_directory(), config.group_name()));
  return std::unique_ptr<FeedSearch>(new FeedSearch(config, std::move(subgroup), source, clock, std::move(directory)));
}

FeedSearch::FeedSearch(const Config& config, std::string subgroup, std::optional<NodeId> source, const Clock& clock,
                       GuardedDirectory directory)
    : group_(config.group_name()),
      subgroup_(std::move(subgroup)),
      source_(source),
      clock_(clock),
      directory_(std::move(directory)) {
  if (config.integer("SPINDRIFT", "observer_port") != 0) elsewhere_.emplace(config, subgroup_, source, clock);
}

Result<void> FeedSearch::begin(std::optional<Resumption> from) {
  stop();
  from_ = from;
  if (elsewhere_) elsewhere_from_ = clock_.now() + (fed_before_ ? before_others_again : before_others);
  here_.emplace(directory_, subgroup_, source_);
  return here_->begin(clock_.now());
}

Result<void> FeedSearch::begin_beside(NodeId fed_by, std::optional<Resumption> from) {
  stop();
  fed_before_ = true;
  if (source_) return {};
  from_ = from;
  here_.emplace(ObserverSearch::beside(directory_, subgroup_, fed_by));
  return here_->begin(clock_.now());
}

void FeedSearch::stop() {
  here_.reset();
  if (elsewhere_) elsewhere_->stop();
  elsewhere_from_ = never;
}

Result<std::unique_ptr<FeedSource>> FeedSearch::look() {
  if (here_) {
    SPINDRIFT_TRY_ASSIGN(std::unique_ptr<LocalFeed> found, here_->look(clock_.now()));
    if (found != nullptr) {
      if (from_) found->rewind();
      return std::unique_ptr<FeedSource>(std::move(found));
    }
  }
  if (clock_.now() >= elsewhere_from_) {
    elsewhere_from_ = never;
    elsewhere_->begin(from_);
  }
  if (!elsewhere_) return std::unique_ptr<FeedSource>();
  auto found = elsewhere_->look();
  // Members of the own host ask for no keys, and one that has answered may feed it yet.
  const bool alone = !here_ || here_->answers().empty();
  if (found && *found == nullptr && elsewhere_->refusal() && alone) return *elsewhere_->refusal();
  return found;
}

Time FeedSearch::next_look() const noexcept {
  Time next = elsewhere_from_;
  if (here_) next = std::min(next, here_->next_calls());
  return elsewhere_ ? std::min(next, elsewhere_->next_look()) : next;
}

void FeedSearch::add_waits(std::vector<pollfd>& to) const {
  if (here_) here_->add_waits(to);
  if (elsewhere_) elsewhere_->add_waits(to);
}

std::string FeedSearch::answers() const {
  std::string text = here_ ? here_->answers() : "";
  const std::string others = elsewhere_ ? elsewhere_->answers() : "";
  return text + (text.empty() || others.empty() ? "" : "; ") + others;
}

std::string FeedSearch::waits_for() const {
  const std::string whom = source_ ? "node " + std::to_string(source_->value()) : "a member";
  const std::string answered = answers();
  return whom + " of group " + group_ + (elsewhere_ ? " on this host or another" : " on this host") +
         " that is in subgroup " + subgroup_ + (answered.empty() ? "" : " (" + answered + ")");
}

std::string FeedSearch::fix() const {
  if (!answers().empty()) return "see to what these members answer, or become one";
  if (elsewhere_) return "start a member, or become one";
  return "start a member on this host with the same [SPINDRIFT] runtime_directory, set [SPINDRIFT] observer_port for "
         "members of other hosts to be asked, or become one";
}

}  // namespace spindrift::group
