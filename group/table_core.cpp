// Rows of one table, waiting for them, and the barrier.
#include <spindrift/group/table_core.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace spindrift::group {
namespace {

constexpr std::uint64_t rounds_max = std::uint64_t{1} << 62;  // further than anybody comes

/// The end of the time that somebody waits, if there is one; else the last of times.
TableCore::Deadline deadline_of(std::optional<Duration> limit) {
  using Deadline = TableCore::Deadline;
  const Deadline now = Deadline::clock::now();
  return !limit || *limit > Deadline::max() - now ? Deadline::max() : now + *limit;
}

bool falls(std::span<const std::uint64_t> from, std::span<const std::uint64_t> to) {
  return !std::equal(from.begin(), from.end(), to.begin(), to.end(), std::less_equal<>());
}

bool shows_value(std::span<const std::uint64_t> content) { return !content.empty() && content[TableCore::has_value] != 0; }

}  // namespace

TableCore::TableCore(std::string name, TableForm form, TableChannel& channel)
    : name_(std::move(name)), form_(std::move(form)), channel_(channel), own_(words()) {}

void TableCore::set(std::span<const std::byte> bytes) {
  channel_.check_open();
  {
    const std::lock_guard lock(mutex_);
    Words next = own_;
    next[has_value] = 1;
    std::memcpy(next.data() + value, bytes.data(), bytes.size());
    if (next == own_) return;
    if (form_.rows == TableRows::monotone && falls(own_, next)) {
      throw Exception(Error(ErrorKind::bad_argument, "a word of the monotone table " + name_ + " was to become smaller")
                          .fix("set only words that grow, or make the table with TableRows::latest"));
    }
    own_ = std::move(next);
    unwritten_ = true;
    ++changes_;
  }
  changed_.notify_all();
  channel_.call_poller();
}

const TableCore::Row* TableCore::row_of(NodeId node) const {
  const auto found = std::find_if(others_.begin(), others_.end(), [&](const Row& row) { return row.node == node; });
  return found == others_.end() ? nullptr : &*found;
}

bool TableCore::read(NodeId node, std::span<std::byte> to) const {
  const std::lock_guard lock(mutex_);
  const Row* const row = row_of(node);
  const Words& content = node == self_ ? own_ : row != nullptr ? row->content : Words();
  if (!shows_value(content)) return false;
  std::memcpy(to.data(), content.data() + value, to.size());
  return true;
}

void TableCore::for_each(const std::function<void(NodeId, std::span<const std::byte>)>& take) const {
  const std::lock_guard lock(mutex_);
  const auto tell = [&](NodeId node, const Words& content) {
    if (!shows_value(content)) return;
    take(node, std::as_bytes(std::span(content)).subspan(value * sizeof(std::uint64_t), form_.bytes));
  };
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (i == before_self_) tell(self_, own_);
    tell(others_[i].node, others_[i].content);
  }
  if (before_self_ == others_.size()) tell(self_, own_);
}

void TableCore::watch(std::function<void()> handler) {
  {
    const std::lock_guard lock(mutex_);
    if (!handler || handler_) {
      throw Exception(Error(ErrorKind::bad_argument, "watch of table " + name_ + (handler ? " is already set"
                                                                                         : " needs a handler"))
                          .fix("set it once"));
    }
    handler_ = std::move(handler);
    ++changes_;
  }
  channel_.call_poller();
}

// The mutex is not held while `satisfied` looks at the rows.
void TableCore::wait(const std::function<bool()>& satisfied, std::optional<Duration> limit) const {
  const Deadline until = deadline_of(limit);
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::uint64_t seen = changes_;
    lock.unlock();
    if (satisfied()) return;
    lock.lock();
    const std::string what = "the rows of table " + name_ + " to be as they are waited for";
    wait_until(lock, [&] { return changes_ != seen; }, until, what, 0);
  }
}

// The reason why a member keeps others waiting, for its value or in a round of the barrier. Empty: it does not.
std::string TableCore::missing(const Row& row, std::uint64_t round) const {
  const std::string node = "node " + std::to_string(row.node.value());
  if (row.content.empty()) return node + (row.other_form ? " has another table of this name" : " has no such table");
  if (round > 0 && row.content[arrived] < round) return node + " has not come";
  if (round == 0 && !shows_value(row.content)) return node + " has not set its row";
  return {};
}

Error TableCore::timed_out(const std::string& what, std::uint64_t round) const {
  std::string missed;
  bool other_form = false;
  for (const Row& row : others_) {
    const std::string why = missing(row, round);
    if (!why.empty()) missed += (missed.empty() ? ": " : ", ") + why;
    other_form |= row.content.empty() && row.other_form;
  }
  Error error(ErrorKind::timed_out, "waited in vain for " + what + missed);
  if (!other_form) return error;
  return std::move(error).fix("run the same program at all members: a table is one of a name, a type and a rule");
}

void TableCore::wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& over, Deadline until,
                           const std::string& what, std::uint64_t round) const {
  if (over()) return;
  channel_.refuse_handlers(what);
  const auto either = [&] { return over() || ended_.has_value(); };
  if (until == Deadline::max()) {
    changed_.wait(lock, either);
  } else if (!changed_.wait_until(lock, until, either)) {
    throw Exception(timed_out(what, round));
  }
  if (!over()) throw Exception(*ended_);
}

// A round is over when all that are in the view have come to it. A member that came into the view since this one waits is
// left out if the round is over for somebody, for whom the view before was the present one. The others never are: that one
// has their rows, and this one may not have them yet.
bool TableCore::all_have_come() const {
  const std::uint64_t round = own_[arrived];
  const bool over_elsewhere = rounds_passed() >= round;
  return std::all_of(others_.begin(), others_.end(), [&](const Row& row) {
    return (over_elsewhere && row.came_in_round == round) || (!row.content.empty() && row.content[arrived] >= round);
  });
}

std::uint64_t TableCore::rounds_passed() const {
  std::uint64_t most = own_[passed];
  for (const Row& row : others_) {
    if (!row.content.empty()) most = std::max(most, row.content[passed]);
  }
  return most;
}

// Rounds that were over without this member, which came into the view later, are over for it, too: it says so in its own row
// before it has come to any, for who told it may be gone when it comes, or when another asks.
void TableCore::settle_barrier() {
  const bool waits = own_[arrived] > own_[passed];
  const std::uint64_t over = waits ? own_[arrived] : rounds_passed();
  if (over == own_[passed] || (waits && !all_have_come())) return;
  own_[arrived] = own_[passed] = over;
  unwritten_ = true;
  changed_.notify_all();
  channel_.call_poller();
}

// Nobody passes a round without all members of its view; so the highest that is over, for this member as for whoever it has
// read, is the one before that in which a member that has just come is awaited.
std::optional<std::uint64_t> TableCore::come() {
  channel_.check_open();
  const std::lock_guard lock(mutex_);
  if (!looked_) return std::nullopt;
  if (own_[arrived] > own_[passed]) return own_[arrived];
  own_[arrived] = own_[passed] + 1;
  unwritten_ = true;
  channel_.call_poller();
  settle_barrier();
  return own_[arrived];
}

bool TableCore::is_over(std::uint64_t round) const {
  const std::lock_guard lock(mutex_);
  return own_[passed] >= round;
}

std::uint64_t TableCore::barrier(std::optional<Duration> limit) {
  channel_.refuse_handlers("the barrier of table " + name_);
  const Deadline until = deadline_of(limit);
  const std::string what = "all members at the barrier of table " + name_;
  std::optional<std::uint64_t> round = come();
  std::unique_lock lock(mutex_);
  while (!round) {
    wait_until(lock, [&] { return looked_; }, until, what, 1);
    lock.unlock();
    round = come();
    lock.lock();
  }
  wait_until(lock, [&] { return own_[passed] >= *round; }, until, what, *round);
  return *round;
}

void TableCore::await_look() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return looked_ || ended_.has_value(); });
}

void TableCore::on_view(const View& view, NodeId self) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<Row> rows;
    self_ = self;
    for (std::uint32_t i = 0; i < view.members.size(); ++i) {
      if (view.members[i] == self) {
        before_self_ = rows.size();
        continue;
      }
      Row row{view.members[i], view.incarnations.at(i), own_[arrived] > own_[passed] ? own_[arrived] : 0, {}};
      const auto before = std::find_if(others_.begin(), others_.end(), [&](const Row& each) {
        return each.node == row.node && each.incarnation == row.incarnation;
      });
      if (before != others_.end()) row = std::move(*before);
      rows.push_back(std::move(row));
    }
    if (std::any_of(others_.begin(), others_.end(), [](const Row& row) { return shows_value(row.content); })) ++changes_;
    others_ = std::move(rows);
    unwritten_ = true;
    settle_barrier();
  }
}

std::optional<TableCore::Words> TableCore::take_own() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(unwritten_, false)) return std::nullopt;
  return own_;
}

bool TableCore::on_row(NodeId node, std::span<const std::uint64_t> content) {
  if (content[has_value] > 1 || content[arrived] > rounds_max || content[passed] > content[arrived]) return false;
  const std::lock_guard lock(mutex_);
  const auto row = std::find_if(others_.begin(), others_.end(), [&](const Row& each) { return each.node == node; });
  if (row == others_.end()) return true;
  row->content.resize(content.size());  // zeros, if it is the first
  const std::size_t growing = form_.rows == TableRows::monotone ? content.size() : static_cast<std::size_t>(value);
  if (falls(std::span(row->content).first(growing), content.first(growing))) return false;
  const bool was_shown = shows_value(row->content);
  const bool alike = std::equal(content.begin() + value, content.end(), row->content.begin() + value);
  if (shows_value(content) && !(was_shown && alike)) ++changes_;
  row->content.assign(content.begin(), content.end());
  settle_barrier();
  return true;
}

void TableCore::on_other_form(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto row = std::find_if(others_.begin(), others_.end(), [&](const Row& each) { return each.node == node; });
  if (row != others_.end()) row->other_form = true;
}

const std::function<void()>* TableCore::on_look(bool all) {
  const std::function<void()>* call = nullptr;
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    news = (all && !looked_) || changes_ != told_;
    looked_ |= all;
    if (handler_ && changes_ != told_) call = &handler_;
    if (news) told_ = changes_;
  }
  if (news) changed_.notify_all();
  return call;
}

void TableCore::on_end(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = why;
  }
  changed_.notify_all();
}

}  // namespace spindrift::group
