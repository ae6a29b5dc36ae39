// Judges the journals of one chaos run: chaos_check DIRECTORY [--one-host] prints what is wrong, a line each, then a line of
// counts as JSON, and exits 1 if anything is. The files `killed` and `asked` there have a line for each process that was
// killed, or asked to leave by a change of the roster: name, when.
//
// The invariant behind most of it: of every ordered subgroup, from each beginning of its state, there is one log; what any
// process ever delivered, loaded or had at a boundary is at its place in that log. Names as in the reliability document.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "journal.hpp"

namespace spindrift::chaos {
namespace {

constexpr std::uint32_t unordered_subgroup = 1;  // of the driver's configuration

struct Process {
  std::string name;
  std::uint32_t node = 0;
  std::uint64_t incarnation = 0;
  std::vector<Record> records;
};

/// By a process's name, when, in ns of the machine's clock.
using Times = std::map<std::string, std::uint64_t>;

/// The driver's deeds to processes.
struct Deeds {
  bool one_host = false;  ///< those that were killed can testify
  Times killed;
  Times asked;
};

Times read_times(const std::filesystem::path& path) {
  Times times;
  std::ifstream file(path);
  std::string name;
  for (std::uint64_t when = 0; file >> name >> when;) times.emplace(name, when);
  return times;
}

Process read_process(const std::filesystem::path& path) {
  Process process{.name = path.stem().string(), .records = {}};
  std::ifstream file(path, std::ios::binary);
  Record record;
  // Records of threads that were killed between taking a place and filling it are empty; a long row of them is the end.
  for (int empty = 0; empty < 64 && file.read(reinterpret_cast<char*>(&record), sizeof record);) {
    empty = record.kind == 0 ? empty + 1 : 0;
    if (record.kind != 0) process.records.push_back(record);
  }
  if (!process.records.empty()) {
    process.node = process.records.front().node;
    process.incarnation = process.records.front().incarnation;
  }
  return process;
}

class Judge {
 public:
  Judge(std::vector<Process> processes, Deeds deeds) : processes_(std::move(processes)), deeds_(std::move(deeds)) {}

  void run() {
    for (const Process& process : processes_) read(process);
    check_logs();
    check_installs();
    for (const Process& process : processes_) {
      check_own_messages(process);
      check_causes(process);
    }
  }
  void print() const {
    for (const std::string& problem : problems_) fmt::print("{}\n", problem);
    fmt::print(
        "{{\"processes\":{},\"views\":{},\"deliveries\":{},\"large\":{},\"sent\":{},\"loads\":{},\"boundaries\":{},\"late\":"
        "{},"
        "\"causes\":{},\"problems\":{}}}\n",
        processes_.size(), views_.size(), deliveries_, large_, sent_, loads_, boundaries_compared_, late_, causes_,
        problem_count_);
  }
  [[nodiscard]] bool good() const noexcept { return problem_count_ == 0; }

 private:
  using Member = std::pair<std::uint32_t, std::uint64_t>;  // node, incarnation
  using Members = std::vector<Member>;
  /// A subgroup and the view in which its state began.
  using LogId = std::pair<std::uint32_t, std::uint64_t>;
  struct Entry {
    std::uint64_t incarnation = 0;
    std::uint64_t counter = 0;
    std::uint64_t digest = 0;  ///< of the state after it
    bool known = false;
    std::uint64_t first_view = 0;
    const Process* witness = nullptr;
  };

  template <class... Arguments>
  void problem(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    if (++problem_count_ <= 40) problems_.push_back(fmt::format(form, std::forward<Arguments>(arguments)...));
  }

  void read(const Process& process) {
    std::uint64_t view = 0;
    std::uint64_t before = 0;
    std::uint64_t incarnation = 0;  // in that view; 0: there was none
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> place;      // in logs, of this process
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> last_tick;  // by sender: counter, view
    for (const Record& record : process.records) {
      switch (static_cast<Kind>(record.kind)) {
        case Kind::view:
          before = std::exchange(view, record.view);
          views_[view].try_emplace(&process);
          installs_.push_back({record.count, view, &process});
          break;
        case Kind::member:
          views_[view][&process].emplace_back(record.node, record.incarnation);
          if (record.node != process.node) break;
          lives_[{record.node, record.incarnation}] = &process;
          // V2, V3: own view ids are contiguous. A process whose first view is lost before it was active begins anew.
          if (std::exchange(incarnation, record.incarnation) == record.incarnation && view != before + 1)
            problem("V3 {}: view {} after view {}", process.name, view, before);
          break;
        case Kind::delivery: on_delivery(process, record, place, last_tick); break;
        case Kind::loaded:
          ++loads_;
          if (record.subgroup != unordered_subgroup) {
            place[{record.subgroup, record.begun}] = record.count;
            marks_.push_back({&process, record});
          }
          break;
        case Kind::boundary:
          if (record.subgroup != unordered_subgroup) marks_.push_back({&process, record});
          break;
        case Kind::sent: sent_ += 1; break;
        case Kind::large: ++large_; break;
        case Kind::dropped: told_[{record.subgroup, process.incarnation}] += record.value; break;
        case Kind::bad:
          problem("M2 {}: the worker's own check {} failed in subgroup {} in view {}", process.name, record.value,
                  record.subgroup, record.view);
          break;
        default: break;
      }
    }
    if (process.records.size() >= Journal::capacity) problem("{}: its journal is full", process.name);
  }

  void on_delivery(const Process& process, const Record& record,
                   std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>& place,
                   std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>& last_tick) {
    ++deliveries_;
    if (record.subgroup == unordered_subgroup) {
      // M4, M5: first in, first out per sender, without gaps within a view.
      const auto found = last_tick.find(record.incarnation);
      if (found != last_tick.end()) {
        const auto [counter, in] = found->second;
        if (record.value <= counter || (record.value != counter + 1 && in == record.view))
          problem("M4 {}: tick {} of {:x} after {} in view {}", process.name, record.value, record.incarnation, counter,
                  record.view);
      }
      last_tick[record.incarnation] = {record.value, record.view};
      return;
    }
    // M3: a process delivers its piece of the log without gaps or repetitions.
    std::uint64_t& at = place[{record.subgroup, record.begun}];
    if (record.count != at + 1)
      problem("M3 {}: place {} of subgroup {} after {}", process.name, record.count, record.subgroup, at);
    at = record.count;
    auto& log = logs_[{record.subgroup, record.begun}];
    if (log.size() <= record.count) log.resize(record.count + record.count / 2 + 16);
    Entry& entry = log[record.count];
    if (!entry.known) {
      entry = {record.incarnation, record.value, record.digest, true, record.view, &process};
      return;
    }
    // M1, M7: one order for all, the dead included.
    if (entry.incarnation != record.incarnation || entry.counter != record.value || entry.digest != record.digest) {
      problem("M1 subgroup {} place {}: {} has message {} of {:x} (view {}), {} has {} of {:x} (view {})", record.subgroup,
              record.count, process.name, record.value, record.incarnation, record.view, entry.witness->name, entry.counter,
              entry.incarnation, entry.first_view);
    } else if (entry.first_view != record.view) {
      // M6: everybody delivers a message in the same view. (A process whose handlers were late hands over what waited.)
      ++late_;
    }
  }

  void check_logs() {
    // V1, V3: a view is the same for everybody, and whoever sees it is in it.
    for (const auto& [view, seen] : views_) {
      const auto& first = *seen.begin();
      for (const auto& [process, members] : seen) {
        if (members != first.second)
          problem("V3 view {}: {} and {} see different members", view, process->name, first.first->name);
        const bool inside = std::any_of(members.begin(), members.end(),
                                        [&, who = process](const auto& member) { return member.first == who->node; });
        if (!inside) problem("V1 view {}: {} is not in it", view, process->name);
      }
    }
    // M4: per sender, counters in the log begin at 0 and have no gaps. Where a state was lost, and began anew, what was on
    // its way into it went with it, and its sender was told how much.
    for (auto& [id, log] : logs_) {
      const bool anew = id.second > 0;
      std::map<std::uint64_t, std::uint64_t>& next = delivered_[id.first];
      std::set<std::uint64_t> heard;  // in this log
      bool ended = false;
      for (std::size_t at = 1; at < log.size(); ++at) {
        const Entry& entry = log[at];
        if (!entry.known) {
          ended = true;
          continue;
        }
        if (ended) {
          problem("M3 subgroup {} begun in view {}: nobody delivered what comes before place {}", id.first, id.second, at);
          break;
        }
        place_of_[{id, entry.incarnation, entry.counter}] = at;
        std::uint64_t& due = next[entry.incarnation];
        const bool first = heard.insert(entry.incarnation).second;
        if (first && anew && entry.counter > due) due += take_told({id.first, entry.incarnation}, entry.counter - due);
        if (entry.counter != due)
          problem("M4 subgroup {} place {}: message {} of {:x} where {} was due", id.first, at, entry.counter,
                  entry.incarnation, due);
        due = entry.counter + 1;
      }
    }
    // M6, J1: at a boundary everybody who has the state has the same; so has who loads it.
    std::map<std::tuple<std::uint64_t, std::uint32_t>, const Mark*> at_boundary;
    for (const Mark& mark : marks_) {
      const auto& log = logs_[{mark.record.subgroup, mark.record.begun}];
      const std::uint64_t count = mark.record.count;
      if (count > 0 && (count >= log.size() || !log[count].known || log[count].digest != mark.record.digest)) {
        problem("J1 {}: state of subgroup {} with {} messages in view {} is of no log", mark.process->name,
                mark.record.subgroup, count, mark.record.view);
      }
      const auto [place, fresh] = at_boundary.try_emplace({mark.record.view, mark.record.subgroup}, &mark);
      if (fresh) continue;
      ++boundaries_compared_;
      const Record& other = place->second->record;
      if (other.count != count || other.digest != mark.record.digest || other.begun != mark.record.begun) {
        problem("M6 view {} subgroup {}: {} begins it with {} messages, {} with {}", mark.record.view, mark.record.subgroup,
                mark.process->name, count, place->second->process->name, other.count);
      }
    }
  }

  /// Takes those of so many missing messages that their sender was told of, and that were not counted before.
  std::uint64_t take_told(const std::pair<std::uint32_t, std::uint64_t>& whose, std::uint64_t missing) {
    std::uint64_t& told = told_[whose];
    const std::uint64_t taken = std::min(told, missing);
    told -= taken;
    return taken;
  }

  // V4: at no time are two different views of one id installed, nobody is at a view before those who were at the one before
  // it, and who goes on is more than half of the view before, those aside who asked to leave; or, on one host, all others
  // were killed before.
  void check_installs() {
    std::sort(installs_.begin(), installs_.end(), [](const Install& a, const Install& b) { return a.when < b.when; });
    std::map<const Process*, std::uint64_t> at;  // the view of each process, at this time
    std::uint64_t newest = 0;
    for (const Install& install : installs_) {
      const auto& members = views_[install.view][install.process];
      at[install.process] = install.view;
      for (const auto& [other, view] : at) {
        if (view == install.view && views_[view][other] != members)
          problem("V4 view {}: {} installs another than {} has", view, install.process->name, other->name);
      }
      if (install.view > newest + 1)
        problem("V4 {}: installs view {} when the newest was {}", install.process->name, install.view, newest);
      newest = std::max(newest, install.view);
      installed_.try_emplace(install.view, install.when);
    }
    for (const auto& [view, seen] : views_) {
      const auto before = views_.find(view - 1);
      if (view == 0 || before == views_.end()) continue;
      const Members& old = before->second.begin()->second;
      const Members& now = seen.begin()->second;
      const auto when = installed_[view];
      const auto removed = std::count_if(old.begin(), old.end(), [&](const auto& member) {
        return std::find(now.begin(), now.end(), member) == now.end() && !asked_to_leave(member, when);
      });
      const auto gone = [&](const auto& member) {
        return std::find(now.begin(), now.end(), member) != now.end() || asked_to_leave(member, when) ||
               was_killed(member, when);
      };
      const bool testified = deeds_.one_host && std::all_of(old.begin(), old.end(), gone);
      if (2 * static_cast<std::size_t>(removed) >= old.size() && !testified)
        problem("V4 view {}: of {} members before, {} were removed", view, old.size(), removed);
    }
  }

  [[nodiscard]] static bool is_in(const Times& times, const Process& life, std::uint64_t before) {
    const auto when = times.find(life.name);
    return when != times.end() && when->second < before;
  }
  [[nodiscard]] bool was_killed(const Member& member, std::uint64_t before) const {
    const auto life = lives_.find(member);
    return life != lives_.end() && is_in(deeds_.killed, *life->second, before);
  }

  [[nodiscard]] bool asked_to_leave(const Member& member, std::uint64_t before) const {
    const auto life = lives_.find(member);
    if (life == lives_.end()) return false;  // it never saw a view
    if (is_in(deeds_.asked, *life->second, before)) return true;
    return std::any_of(life->second->records.begin(), life->second->records.end(), [&](const Record& record) {
      return record.kind == static_cast<std::uint64_t>(Kind::leaving) && record.count <= before;
    });
  }

  // M9: what a process sends comes behind all that it had delivered before.
  void check_causes(const Process& process) {
    for (const Record& record : process.records) {
      if (record.kind != static_cast<std::uint64_t>(Kind::sent) || record.subgroup == unordered_subgroup) continue;
      const auto found = place_of_.find({{record.subgroup, record.begun}, process.incarnation, record.value});
      if (found == place_of_.end()) continue;  // nobody delivered it, or in a log that began later
      ++causes_;
      if (found->second <= record.count)
        problem("M9 {}: message {} of subgroup {} is at place {}, but was sent behind {}", process.name, record.value,
                record.subgroup, found->second, record.count);
    }
  }

  // M8: a member that left gracefully has had everything delivered that it sent; nobody delivers what was never sent.
  void check_own_messages(const Process& process) {
    const bool left = std::any_of(process.records.begin(), process.records.end(), [](const Record& record) {
      return record.kind == static_cast<std::uint64_t>(Kind::left);
    });
    std::map<std::uint32_t, std::uint64_t> sent;
    for (const Record& record : process.records) {
      if (record.kind == static_cast<std::uint64_t>(Kind::sent)) sent[record.subgroup] = record.value + 1;
    }
    for (auto& [subgroup, next] : delivered_) {
      const auto found = next.find(process.incarnation);
      const std::uint64_t delivered = found == next.end() ? 0 : found->second;
      if (left && delivered != sent[subgroup])
        problem("M8 {}: left after sending {} to subgroup {}, of which {} were delivered", process.name, sent[subgroup],
                subgroup, delivered);
      if (delivered > sent[subgroup] + 1)  // one may have been sent and not written down
        problem("M2 {}: {} messages delivered in subgroup {}, {} sent", process.name, delivered, subgroup, sent[subgroup]);
    }
  }

  struct Mark {
    const Process* process;
    Record record;
  };
  struct Install {
    std::uint64_t when;
    std::uint64_t view;
    const Process* process;
  };

  std::vector<Process> processes_;
  Deeds deeds_;
  std::map<std::uint64_t, std::map<const Process*, Members>> views_;
  std::map<LogId, std::vector<Entry>> logs_;
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> delivered_;  // by subgroup and sender
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> told_;  // by subgroup and sender: given up, as it heard
  std::vector<Mark> marks_;
  std::vector<Install> installs_;
  std::map<std::uint64_t, std::uint64_t> installed_;  ///< by view: when the first did
  std::map<Member, const Process*> lives_;
  std::map<std::tuple<LogId, std::uint64_t, std::uint64_t>, std::uint64_t> place_of_;  // by sender and counter
  std::vector<std::string> problems_;
  std::uint64_t problem_count_ = 0;
  std::uint64_t deliveries_ = 0;
  std::uint64_t large_ = 0;  ///< of them, of large messages
  std::uint64_t sent_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t boundaries_compared_ = 0;
  std::uint64_t causes_ = 0;  ///< messages that were looked up behind what their sender had delivered
  std::uint64_t late_ = 0;    ///< deliveries in another view than the first witness's
};

}  // namespace
}  // namespace spindrift::chaos

int main(int argument_count, char** arguments) {
  using namespace spindrift::chaos;
  const bool one_host = argument_count == 3 && std::string_view(arguments[2]) == "--one-host";
  if (argument_count != 2 && !one_host) {
    std::fprintf(stderr, "usage: chaos_check DIRECTORY [--one-host]\n");
    return 2;
  }
  const std::filesystem::path directory = arguments[1];
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".journal") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Process> processes;
  for (const auto& path : paths) processes.push_back(read_process(path));
  Judge judge(std::move(processes), {one_host, read_times(directory / "killed"), read_times(directory / "asked")});
  judge.run();
  judge.print();
  return judge.good() ? 0 : 1;
}
