// The checks of what is read in rows, and of who passes a barrier.
#include "table_checks.hpp"

#include <algorithm>

#include "../random.hpp"

namespace spindrift::sim {
namespace {

constexpr unsigned number_shift = 32;

bool contains(const std::vector<std::uint32_t>& processes, std::uint32_t process) {
  return std::find(processes.begin(), processes.end(), process) != processes.end();
}

}  // namespace

std::string TableChecks::name_of(std::uint32_t reader, std::uint32_t owner, std::uint32_t table) {
  return "process " + std::to_string(reader) + " reads table " + std::to_string(table) + " of process " +
         std::to_string(owner) + ": ";
}

void TableChecks::on_view(std::uint32_t process, ViewId id, std::vector<std::uint32_t> members) {
  views_[process] = std::move(members);
  first_views_.try_emplace(process, id);
  for (std::uint32_t table = 0; table < plan_.tables.size(); ++table) {
    Owner& owner = owners_[{process, table}];
    owner.passed_by[id] = owner.passed;
  }
}

std::vector<std::uint64_t> TableChecks::value_of(std::uint32_t process, std::uint32_t table, std::uint64_t number) const {
  const TablePlan& plan = plan_.tables[table];
  std::vector<std::uint64_t> words(plan.words);
  words[0] = number << number_shift | std::uint64_t{process} << 8 | table;
  for (std::size_t i = 1; i < words.size(); ++i) words[i] = plan.monotone ? words[0] + i : mix(words[0] + i);
  return words;
}

std::vector<std::uint64_t> TableChecks::set_next(std::uint32_t process, std::uint32_t table) {
  return value_of(process, table, ++owners_[{process, table}].values);
}

// T1: a value is one that its owner set, whole. T2: and none before the last one that the same reader saw.
void TableChecks::on_read(std::uint32_t reader, std::uint32_t owner, std::uint32_t table,
                          std::optional<std::span<const std::uint64_t>> value) {
  std::uint64_t& seen = seen_[{reader, owner, table}];
  if (!value) {
    if (seen > 0) report_.violate("T2", name_of(reader, owner, table) + "there was a value and is none");
    return;
  }
  const std::uint64_t number = (*value)[0] >> number_shift;
  const std::vector<std::uint64_t> whole = value_of(owner, table, number);
  const bool alike = std::equal(value->begin(), value->end(), whole.begin(), whole.end());
  if (!alike || number == 0 || number > owners_[{owner, table}].values) {
    return report_.violate("T1", name_of(reader, owner, table) + "nobody set that");
  }
  if (number < seen) {
    return report_.violate("T2", name_of(reader, owner, table) + "value " + std::to_string(number) + " after " +
                                     std::to_string(seen));
  }
  if (number > seen) report_.hit(Probe::table_row_read);
  seen = number;
}

// T5: a member comes to one round after the other.
void TableChecks::on_come(std::uint32_t process, std::uint32_t table, std::uint64_t round) {
  Owner& owner = owners_[{process, table}];
  if (!owner.came.empty() && round != owner.came.rbegin()->first + 1) {
    return report_.violate("T5", "process " + std::to_string(process) + " comes to round " + std::to_string(round) +
                                     " of the barrier of table " + std::to_string(table) + " after round " +
                                     std::to_string(owner.came.rbegin()->first));
  }
  if (owner.came.empty()) check_first_round(process, table, round);
  owner.came[round] = owner.values;
  owner.members_then = views_[process];
}

// T5: a newcomer begins with no round that was over for somebody when that one came into the newcomer's first view.
void TableChecks::check_first_round(std::uint32_t process, std::uint32_t table, std::uint64_t round) {
  for (const std::uint32_t other : views_[process]) {
    if (ended_.contains(other)) continue;  // it may have gone before the newcomer saw its row
    const Owner& owner = owners_[{other, table}];
    const auto passed = owner.passed_by.find(first_views_[process]);
    if (passed == owner.passed_by.end() || passed->second < round) continue;
    report_.violate("T5", "process " + std::to_string(process) + " begins with round " + std::to_string(round) +
                              " of the barrier of table " + std::to_string(table) + ", which was over for process " +
                              std::to_string(other));
  }
}

// T4: nobody passes a round before all of its view have come to it, and sees then what they had set before they came.
void TableChecks::on_pass(std::uint32_t process, std::uint32_t table, std::uint64_t round) {
  for (const std::uint32_t other : views_[process]) {
    if (other == process) continue;
    if (may_leave_out(process, other, table, round)) continue;
    const Owner& owner = owners_[{other, table}];
    if (owner.came.empty() || owner.came.rbegin()->first < round) {
      report_.violate("T4", "process " + std::to_string(process) + " passes round " + std::to_string(round) +
                                " of the barrier of table " + std::to_string(table) + " without process " +
                                std::to_string(other));
      continue;
    }
    const auto came = owner.came.find(round);
    if (came == owner.came.end() || seen_[{process, other, table}] >= came->second) continue;
    report_.violate("T4", name_of(process, other, table) + "it has passed round " + std::to_string(round) +
                              " and does not see what was set before it");
  }
  owners_[{process, table}].passed = round;
  passed_.insert({table, round});
  report_.hit(Probe::table_barrier_passed);
}

// A member that came into the view after one had come to the barrier is left out of a round that is over for somebody.
bool TableChecks::may_leave_out(std::uint32_t process, std::uint32_t other, std::uint32_t table, std::uint64_t round) {
  const bool came_later = !contains(owners_[{process, table}].members_then, other);
  if (!came_later || !passed_.contains({table, round})) return false;
  report_.hit(Probe::table_newcomer_left_out);
  return true;
}

void TableChecks::on_fault(std::uint32_t process, const std::string& what) {
  report_.violate("T1", "process " + std::to_string(process) + " accuses one that wrote its row: " + what);
}

std::uint64_t TableChecks::last_round(std::uint32_t table, const std::vector<std::uint32_t>& core) {
  std::uint64_t last = 0;
  for (const std::uint32_t process : core) {
    const Owner& owner = owners_[{process, table}];
    if (!owner.came.empty()) last = std::max(last, owner.came.rbegin()->first);
  }
  return last;
}

std::optional<std::string> TableChecks::unseen(const std::vector<std::uint32_t>& core) {
  for (std::uint32_t table = 0; table < plan_.tables.size(); ++table) {
    for (const std::uint32_t reader : core) {
      for (const std::uint32_t owner : core) {
        const std::uint64_t last = owners_[{owner, table}].values;
        if (reader == owner || !made_.contains({reader, table}) || seen_[{reader, owner, table}] == last) continue;
        return name_of(reader, owner, table) + "value " + std::to_string(seen_[{reader, owner, table}]) + " of " +
               std::to_string(last);
      }
    }
  }
  return std::nullopt;
}

}  // namespace spindrift::sim
