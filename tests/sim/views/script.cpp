// Reading and playing scenarios.
#include "script.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "fleet.hpp"
#include "rosters.hpp"

namespace spindrift::sim {
namespace {

struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::uint64_t number_of(const std::string& word) {
  std::size_t used = 0;
  std::uint64_t number = 0;
  try {
    number = std::stoull(word, &used);
  } catch (const std::exception&) {
    throw BadLine("not a number: " + word);
  }
  if (used != word.size()) throw BadLine("not a number: " + word);
  return number;
}

Ticks ticks_of(const std::string& word) {
  const std::size_t unit = word.find_first_not_of("0123456789");
  if (unit == 0 || unit == std::string::npos) throw BadLine("not a time: " + word);
  const auto count = static_cast<Ticks>(number_of(word.substr(0, unit)));
  const std::string name = word.substr(unit);
  if (name == "ns") return count;
  if (name == "us") return count * 1'000;
  if (name == "ms") return count * 1'000'000;
  if (name == "s") return count * 1'000'000'000;
  throw BadLine("not a time: " + word);
}

std::vector<std::uint32_t> nodes_of(const std::string& word) {
  std::vector<std::uint32_t> nodes;
  std::istringstream list(word);
  for (std::string one; std::getline(list, one, ',');) nodes.push_back(static_cast<std::uint32_t>(number_of(one)));
  return nodes;
}

std::string text_of(const std::vector<std::uint32_t>& nodes) {
  std::string text;
  for (const std::uint32_t node : nodes) text += (text.empty() ? "" : ",") + std::to_string(node);
  return text.empty() ? "nobody" : text;
}

Action::Kind moment_of(const std::string& word, bool pause) {
  if (pause && word == "relay") return Action::Kind::pause_in_relay;
  if (!pause && word == "relay") return Action::Kind::crash_in_relay;
  if (!pause && word == "large") return Action::Kind::crash_in_large;
  if (!pause && word == "change") return Action::Kind::crash_in_change;
  throw BadLine("unknown: " + word);
}

class Player {
 public:
  Player(bool verbose, std::uint64_t seed) : verbose_(verbose) {
    plan_.seed = seed;
    plan_.liveness = false;
    plan_.suspect_after = 1'000'000;
    plan_.fabric.delay_ns_max = 5'000;
    plan_.fabric.hello_before_memory = true;
    SubgroupPlan orders;
    orders.name = "orders";
    orders.profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 256};
    orders.state_bytes = 1000;
    plan_.subgroups.push_back(orders);
  }

  void play(const std::vector<std::string>& words) {
    if (words[0] == "at" || words[0] == "after") return schedule(words);
    if (words[0] == "expect") return expect(words);
    if (words[0] == "run") return start().pass_time_until(start().now() + ticks_of(word(words, 1)));
    if (fleet_) throw BadLine("settings come before the first step");
    set(words);
  }

  void finish() {
    if (actions_last_ > 0) start().pass_time_until(actions_last_);
    check();
  }
  [[nodiscard]] std::uint64_t events() { return fleet_ ? fleet_->events() : 0; }
  [[nodiscard]] std::uint64_t expectations() const { return expectations_; }

 private:
  static const std::string& word(const std::vector<std::string>& words, std::size_t at) {
    if (at >= words.size()) throw BadLine("the line is too short");
    return words[at];
  }
  std::uint32_t node(const std::string& word) {
    const std::uint64_t number = number_of(word);
    if (number >= plan_.nodes.size()) throw BadLine("no such node: " + word);
    return static_cast<std::uint32_t>(number);
  }
  std::uint32_t subgroup(const std::string& name) {
    for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
      if (plan_.subgroups[s].name == name) return s;
    }
    throw BadLine("no such subgroup: " + name);
  }

  void set(const std::vector<std::string>& words) {
    if (words[0] == "nodes") {
      const std::uint64_t count = number_of(word(words, 1));
      if (count > Network::nodes_max) throw BadLine("more nodes than the simulated network has");
      plan_.nodes.resize(count);
      for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) {
        plan_.nodes[i].host = i;
        plan_.founders.push_back(i);
      }
    } else if (words[0] == "founders") {
      const bool present = word(words, 1) == "present";
      if (present) plan_.founded_by = views::FoundedBy::present;
      if (!present || words.size() > 2) plan_.founders = nodes_of(word(words, present ? 2 : 1));
    } else if (words[0] == "suspect") {
      plan_.suspect_after = word(words, 1) == "never" ? 0 : ticks_of(words[1]);
    } else if (words[0] == "waits") {
      plan_.waits = true;
    } else if (words[0] == "lost") {
      plan_.fabric.lost_ns_max = ticks_of(word(words, 1));
    } else if (words[0] == "messages") {
      plan_.fabric.message_bytes_max = number_of(word(words, 1));
    } else if (words[0] == "host") {
      for (const std::uint32_t on : nodes_of(word(words, 1))) plan_.nodes.at(on).host = 1000;
    } else if (words[0] == "busy") {
      NodePlan& busy = plan_.nodes.at(node(word(words, 1)));
      busy.busy_in_1000 = 1000;
      busy.busy_ns_max = ticks_of(word(words, 2));
    } else if (words[0] == "lagging") {  // lagging NODE TIME
      plan_.nodes.at(node(word(words, 1))).lagging_after = ticks_of(word(words, 2));
    } else if (words[0] == "unlisted") {  // unlisted A,B
      for (const std::uint32_t other : nodes_of(word(words, 1))) {
        plan_.nodes.at(other).listed = false;
        std::erase(plan_.founders, other);
      }
    } else if (words[0] == "names") {  // names NODE A,B
      std::uint64_t& names = plan_.nodes.at(node(word(words, 1))).names;
      names = 0;
      for (const std::uint32_t other : nodes_of(word(words, 2))) names |= std::uint64_t{1} << other;
    } else if (words[0] == "states") {
      plan_.nodes.at(node(word(words, 1))).state_ns_max = ticks_of(word(words, 2));
    } else if (words[0] == "saves") {  // saves NODE fail
      if (word(words, 2) != "fail") throw BadLine("unknown: " + words[2]);
      plan_.nodes.at(node(word(words, 1))).failing_saves_in_1000 = 1000;
    } else if (words[0] == "state") {
      plan_.subgroups[0].state_bytes = number_of(word(words, 1));
    } else if (words[0] == "window") {
      plan_.subgroups[0].profile.window_messages = number_of(word(words, 1));
    } else if (words[0] == "senders") {
      plan_.subgroups[0].senders = 0;
      for (const std::uint32_t sender : nodes_of(word(words, 1))) plan_.subgroups[0].senders |= std::uint64_t{1} << sender;
    } else if (words[0] == "bulk") {  // bulk BYTES [direct]
      Profile& profile = plan_.subgroups[0].profile;
      profile.bulk_ring_bytes = number_of(word(words, 1));
      profile.large_message_bytes = 128;
      profile.message_bytes_max = profile.bulk_ring_bytes / 2;
      if (words.size() > 2 && words[2] != "direct") throw BadLine("unknown: " + words[2]);
      plan_.fabric.mappable = words.size() > 2;  // where no row can be mapped, members hand on
    } else if (words[0] == "split") {
      plan_.split_rows();
    } else if (words[0] == "minimum") {
      plan_.subgroups[0].minimum = static_cast<std::uint32_t>(number_of(word(words, 1)));
    } else if (words[0] == "places") {  // places COUNT: for subgroups that are created; place0, place1 … in `send`
      SubgroupPlan place = plan_.subgroups[0];
      place.added = true;
      place.state_bytes = 0;
      for (std::uint64_t i = number_of(word(words, 1)); i > 0; --i) {
        place.name = "place" + std::to_string(std::ranges::count(plan_.subgroups, true, &SubgroupPlan::added));
        plan_.subgroups.push_back(place);
      }
    } else if (words[0] == "unordered") {
      SubgroupPlan news = plan_.subgroups[0];
      news.name = word(words, 1);
      news.mode = DeliveryMode::unordered;
      plan_.subgroups.push_back(news);
    } else {
      throw BadLine("unknown: " + words[0]);
    }
  }

  Fleet& start() {
    if (!fleet_) {
      fleet_ = std::make_unique<Fleet>(plan_);
      fleet_->set_verbose(verbose_);
      for (const std::uint32_t founder : plan_.founders) {
        Action begin;
        begin.node = founder;
        fleet_->act(begin);
      }
    }
    return *fleet_;
  }

  void schedule(const std::vector<std::string>& words) {
    Fleet& fleet = start();
    Action action;
    action.at = ticks_of(word(words, 1)) + (words[0] == "after" ? std::max(fleet.now(), actions_last_) : 0);
    const std::string& what = word(words, 2);
    if (what == "cut" || what == "heal") {
      const std::string& pair = word(words, 3);
      const std::size_t dash = pair.find('-');
      if (dash == std::string::npos) throw BadLine("not a pair: " + pair);
      action.kind = what == "cut" ? Action::Kind::cut : Action::Kind::heal;
      bool one_way = false;
      for (std::size_t i = 4; i < words.size(); ++i) {
        if (words[i] == "one-way")
          one_way = true;
        else if (words[i] == "writes")
          action.what = Cut::writes;
        else if (words[i] == "messages")
          action.what = Cut::messages;
        else if (words[i] == "present" && what == "cut")
          action.kind = Action::Kind::cut_present;
        else if (words[i] == "breaks")
          action.ticks = ticks_of(word(words, ++i));
        else
          throw BadLine("unknown: " + words[i]);
      }
      for (const std::uint32_t a : nodes_of(pair.substr(0, dash))) {
        for (const std::uint32_t b : nodes_of(pair.substr(dash + 1))) {
          action.node = a;
          action.other = b;
          queue(action);
          if (one_way) continue;
          std::swap(action.node, action.other);
          queue(action);
        }
      }
      return;
    }
    action.node = node(word(words, 3));
    if (what == "start")
      action.kind = Action::Kind::start;
    else if (what == "crash")
      action.kind = Action::Kind::crash;
    else if (what == "found")
      action.kind = Action::Kind::found;
    else if (what == "adopt")
      action.kind = Action::Kind::adopt;
    else if (what == "forget")
      action.kind = Action::Kind::forget;
    else if (what == "lose_logs")
      action.kind = Action::Kind::lose_logs;
    else if (what == "leave")
      action.kind = Action::Kind::leave;
    else if (what == "stop")
      action.kind = Action::Kind::stop;
    else if (what == "pause")
      action.kind = Action::Kind::pause;
    else if (what == "starve")
      action.kind = Action::Kind::starve;
    else if (what == "work")
      action.kind = Action::Kind::work;
    else if (what == "send")
      action.kind = Action::Kind::send;
    else if (what == "refuse")
      action.kind = Action::Kind::refuse;
    else if (what == "add")
      action.kind = Action::Kind::add;
    else if (what == "remove")
      action.kind = Action::Kind::remove;
    else if (what == "move")
      action.kind = Action::Kind::move;
    else if (what == "drain")
      action.kind = Action::Kind::drain;
    else if (what == "undrain")
      action.kind = Action::Kind::undrain;
    else if (what == "create")  // create N NUMBER: the subgroup of that number, of all nodes
      action.kind = Action::Kind::create;
    else if (what == "drop")
      action.kind = Action::Kind::drop;
    else if (what == "change")  // change N NUMBER BITS
      action.kind = Action::Kind::change;
    else if (what == "resize")  // resize N SUBGROUP WINDOW
      action.kind = Action::Kind::resize;
    else if (what == "edit")  // edit N EDITION: the sizes of rings in its file
      action.kind = Action::Kind::edit;
    else if (what == "install")  // install N OLDEST NEWEST: a release that speaks these versions of the protocol
      action.kind = Action::Kind::install;
    else
      throw BadLine("unknown: " + what);
    if (what == "pause" || what == "work" || what == "starve" || what == "refuse") action.ticks = ticks_of(word(words, 4));
    if (change_of(action.kind))
      action.other = is_of_subgroup(action.kind) ? static_cast<std::uint32_t>(number_of(word(words, 4)))
                                                 : node(word(words, 4));
    if (what == "move" || what == "change" || what == "resize") action.count = number_of(word(words, 5));
    if (what == "edit") action.count = number_of(word(words, 4));
    if (what == "install") {
      action.other = static_cast<std::uint32_t>(number_of(word(words, 4)));
      action.count = number_of(word(words, 5));
    }
    if (what == "adopt") action.other = subgroup(word(words, 4));
    if (what == "send") {
      action.other = subgroup(word(words, 4));
      action.count = number_of(word(words, 5));
      for (std::size_t i = 6; i < words.size(); ++i) {  // send N SUBGROUP COUNT [large] [built TIME]
        if (words[i] == "large")
          action.large = true;
        else if (words[i] == "built")
          action.ticks = ticks_of(word(words, ++i));
        else
          throw BadLine("unknown: " + words[i]);
      }
    }
    // crash N in change|large|relay K, pause N TIME in relay K
    if (const std::size_t in = what == "crash" ? 4 : 5; (what == "crash" || what == "pause") && words.size() > in) {
      if (words[in] != "in") throw BadLine("unknown: " + words[in]);
      action.kind = moment_of(word(words, in + 1), what == "pause");
      action.count = number_of(word(words, in + 2));
    }
    queue(action);
  }

  void queue(const Action& action) {
    if (action.at < actions_last_) throw BadLine("earlier than the line before");
    actions_last_ = action.at;
    start().pass_time_until(action.at);
    start().act(action);
  }

  void expect(std::vector<std::string> words) {
    Fleet& fleet = start();
    ++expectations_;
    Ticks limit = 40 * plan_.suspect_after + 100'000'000;
    if (word(words, 1) == "within") {
      limit = ticks_of(word(words, 2));
      words.erase(words.begin() + 1, words.begin() + 3);
    }
    const std::string& what = word(words, 1);
    const auto wait = [&](const std::function<bool()>& holds, const std::function<std::string()>& instead) {
      fleet.run_while_not(holds, limit);
      check();
      if (!holds()) throw BadLine("expected otherwise: " + instead());
    };
    if (what == "view") {  // expect view of N is A,B,C [or D,E …]
      const std::uint32_t of = node(word(words, 3));
      std::vector<std::vector<std::uint32_t>> expected;
      for (std::size_t at = 5; at == 5 || at < words.size(); at += 2) {
        expected.push_back(nodes_of(word(words, at)));
        std::sort(expected.back().begin(), expected.back().end());
      }
      const auto seen = [&] {
        auto members = fleet.members_seen_by(of);
        std::sort(members.begin(), members.end());
        return members;
      };
      const auto fits = [&] { return std::find(expected.begin(), expected.end(), seen()) != expected.end(); };
      wait([&] { return fits() && fleet.state_of(of) == views::MemberState::active; },
           [&] { return "node " + std::to_string(of) + " sees " + text_of(seen()); });
    } else if (what == "delivered") {  // expect delivered N SUBGROUP COUNT[+]
      const std::uint32_t at = node(word(words, 2));
      const std::uint32_t of = subgroup(word(words, 3));
      std::string text = word(words, 4);
      const bool or_more = text.back() == '+';
      if (or_more) text.pop_back();
      const std::uint64_t count = number_of(text);
      wait([&] { return or_more ? fleet.delivered(at, of) >= count : fleet.delivered(at, of) == count; },
           [&] { return "delivered " + std::to_string(fleet.delivered(at, of)); });
    } else if (what == "state") {  // expect state N STATE
      const std::uint32_t of = node(word(words, 2));
      wait([&] { return views::to_string(fleet.state_of(of)) == word(words, 3); },
           [&] { return "node " + std::to_string(of) + " is " + std::string(views::to_string(fleet.state_of(of))); });
    } else if (what == "window") {  // expect window N SUBGROUP COUNT
      const std::uint32_t at = node(word(words, 2));
      const std::uint32_t of = subgroup(word(words, 3));
      const std::uint64_t window = number_of(word(words, 4));
      wait([&] { return fleet.window(at, of) == window; },
           [&] { return "a window of " + std::to_string(fleet.window(at, of)); });
    } else if (what == "failure") {  // expect failure N WORD
      const std::uint32_t of = node(word(words, 2));
      wait([&] { return fleet.failure_of(of).value_or("").find(word(words, 3)) != std::string::npos; },
           [&] { return fleet.failure_of(of).value_or("it did not fail"); });
    } else if (what == "all") {  // expect all delivered
      wait([&] { return fleet.everything_delivered(); }, [] { return std::string("something is missing"); });
    } else {
      throw BadLine("unknown: " + what);
    }
  }

  void check() {
    if (const auto& violation = start().report().violation()) {
      throw BadLine("violated " + violation->invariant + ": " + violation->what);
    }
  }

  Plan plan_;
  bool verbose_;
  std::unique_ptr<Fleet> fleet_;
  Ticks actions_last_ = 0;
  std::uint64_t expectations_ = 0;
};

}  // namespace

ScriptResult run_script(std::istream& script, bool verbose, std::uint64_t seed) {
  ScriptResult result;
  Player player(verbose, seed);
  std::uint64_t line_number = 0;
  std::string line;
  try {
    while (std::getline(script, line)) {
      ++line_number;
      std::istringstream stream(line.substr(0, line.find('#')));
      std::vector<std::string> words;
      for (std::string one; stream >> one;) words.push_back(one);
      if (!words.empty()) player.play(words);
    }
    player.finish();
  } catch (const BadLine& bad) {
    result.failure = "line " + std::to_string(line_number) + " (" + line + "): " + bad.what();
  }
  result.events = player.events();
  result.expectations = player.expectations();
  return result;
}

}  // namespace spindrift::sim
