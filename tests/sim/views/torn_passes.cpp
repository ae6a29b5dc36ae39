// Journals of rows, readers that lag in them, and what must hold of what they decide.
#include "torn_passes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <spindrift/core/untrusted.hpp>
#include <spindrift/views/view_change.hpp>

#include "../random.hpp"
#include "suspects_of_row.hpp"

namespace spindrift::sim {
namespace {

using views::Decree;
using views::ViewChange;
using State = ViewChange::State;

constexpr SubgroupId only{0};

/// How a pass finds a row: as it was at one moment, word by word as it grew, or as it is.
enum class Sight : std::uint8_t { whole, torn, newest };

View view_of(std::uint32_t members) {
  View view;
  view.id = ViewId(3);
  for (std::uint32_t i = 0; i < members; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(100 + i);
  }
  SubgroupView subgroup;
  subgroup.name = "s";
  subgroup.members = view.members;
  subgroup.senders = {view.members.front(), view.members.back()};
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 4, .message_bytes_max = 64};
  view.subgroups.push_back(std::move(subgroup));
  return view;
}

struct Store {
  std::uint64_t offset;
  std::uint64_t value;
};

/// One member: the real table and view change over its own row and copies of the others'.
class Actor final : public views::Counts {
 public:
  Actor(const View& view, std::uint32_t rank, const std::vector<views::RankSet>& loaded, views::RankSet newcomers,
        Random& random)
      : layout_(view, view.members[rank]),
        row_(layout_.bytes()),
        known_(layout_.bytes()),
        table_(view, view.members[rank], row_),
        rosters_(view, table_.self()),
        change_(view, loaded, table_, *this, rosters_, {}, newcomers) {
    for (std::uint32_t i = 0; i < view.members.size(); ++i) {
      copies_.emplace_back(sst::RowLayout(view, view.members[i]).bytes());
      if (i != rank) table_.attach_mapped(Rank(i), copies_.back());
    }
    for (std::uint64_t& count : received_) count = random.below(6);
    order_of_stores();
    change_.set_ready();
    note_stores();
  }

  void wedge() override {
    for (std::size_t i = 0; i < received_.size(); ++i) {
      table_.store(layout_.subgroup(only)->received_of + i * sst::word_bytes, received_[i], sst::Table::everybody);
    }
  }
  [[nodiscard]] bool can_deliver(const Decree& decree) const override {
    for (std::size_t i = 0; i < received_.size(); ++i) {
      if (decree.trim[0][i] > received_[i]) return false;
    }
    return true;
  }

  /// The words that the last pass stored go into the journal in the order of its stores.
  void note_stores() {
    for (const std::uint64_t offset : stored_) {
      const std::uint64_t value = word(offset);
      if (value == load_acquire(known_.data() + offset)) continue;
      std::memcpy(known_.data() + offset, &value, sizeof value);
      journal.push_back({offset, value});
    }
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t offset) const { return load_acquire(row_.data() + offset); }
  [[nodiscard]] std::vector<std::uint64_t> decree_words() const {
    std::vector<std::uint64_t> words;
    for (std::uint64_t i = 0; i < layout_.decree_words(); ++i) words.push_back(word(layout_.decree() + i * sst::word_bytes));
    return words;
  }
  [[nodiscard]] const sst::RowLayout& layout() const { return layout_; }
  [[nodiscard]] ViewChange& change() { return change_; }
  [[nodiscard]] const ViewChange& change() const { return change_; }
  [[nodiscard]] std::vector<std::byte>& copy(std::uint32_t of) { return copies_[of]; }
  [[nodiscard]] std::uint64_t received(std::size_t sender) const { return received_[sender]; }
  [[nodiscard]] views::RankSet suspected() const { return {word(layout_.suspected(0)), word(layout_.suspected(1))}; }

  std::vector<Store> journal;
  std::vector<std::size_t> position;  // by writer: what of its journal was read
  std::vector<std::size_t> end;       // by writer: what of its journal will ever arrive, once it is dead
  bool alive = true;

 private:
  void order_of_stores() {
    const auto& block = *layout_.subgroup(only);
    stored_ = {layout_.epoch(), layout_.phase(), layout_.leaving(), layout_.suspected(0), layout_.suspected(1)};
    for (std::size_t i = 0; i < received_.size(); ++i) stored_.push_back(block.received_of + i * sst::word_bytes);
    stored_.push_back(layout_.wedged());
    for (std::uint64_t i = 0; i < layout_.decree_words(); ++i) stored_.push_back(layout_.decree() + i * sst::word_bytes);
    stored_.push_back(layout_.accepted());
    stored_.push_back(layout_.decided());
  }

  sst::RowLayout layout_;
  std::vector<std::byte> row_;
  std::vector<std::byte> known_;  // as the journal has it
  std::vector<std::vector<std::byte>> copies_;
  std::array<std::uint64_t, 2> received_{};
  std::vector<std::uint64_t> stored_;
  sst::Table table_;
  views::RosterAgreement rosters_;
  ViewChange change_;
};

class Ending {
 public:
  explicit Ending(std::uint64_t seed)
      : random_(seed, Purpose::schedule), view_(view_of(random_.pick<std::uint32_t>({3, 3, 4, 5, 5, 6, 7}))) {
    const auto members = static_cast<std::uint32_t>(view_.members.size());
    loaded_.push_back(views::RankSet::first(members));
    for (std::uint32_t i = 2; i < members; ++i) {
      if ((seed >> i & 3) == 3) newcomers_.add(Rank(i));
    }
    for (std::uint32_t i = 0; i < members; ++i)
      actors_.push_back(std::make_unique<Actor>(view_, i, loaded_, newcomers_, random_));
    for (const auto& actor : actors_) {
      actor->position.assign(members, 0);
      actor->end.assign(members, ~std::size_t{0});
    }
    crashes_ = random_.chance(1, 8) ? random_.below(members) : random_.below((members + 1) / 2);
    accusations_ = random_.pick<std::uint64_t>({0, 0, 0, 1, 2});
    accused_ = accusations_ > 0;
    if (random_.chance(1, 3)) candidates_.push_back({{NodeId(50), 500}, views::RankSet::first(members)});
    if (random_.chance(1, 4)) any().change().leave();
  }

  TornPassesResult run() {
    for (std::uint64_t turns = 40 * actors_.size(); turns > 0 && result_.failure.empty(); --turns) {
      const auto who = static_cast<std::uint32_t>(random_.below(actors_.size()));
      if (!actors_[who]->alive) continue;
      if (crashes_ > 0 && random_.chance(1, 24)) {
        --crashes_;
        crash(who);
      } else if (accusations_ > 0 && random_.chance(1, 24)) {
        --accusations_;
        actors_[who]->change().suspect(Rank(static_cast<std::uint32_t>(random_.below(actors_.size()))), "it seems silent");
      } else {
        look_for_the_dead(who, random_.chance(1, 4));
        pass(who, random_.pick({Sight::whole, Sight::torn}));
      }
    }
    for (std::size_t rounds = 4 * actors_.size(); rounds > 0 && result_.failure.empty(); --rounds) {
      for (std::uint32_t who = 0; who < actors_.size(); ++who) {
        if (!actors_[who]->alive) continue;
        look_for_the_dead(who, true);
        pass(who, Sight::newest);
      }
    }
    if (result_.failure.empty()) check_end();
    return std::move(result_);
  }

 private:
  Actor& any() { return *actors_[random_.below(actors_.size())]; }
  void violate(const char* invariant, const std::string& what) {
    if (result_.failure.empty()) result_.failure = std::string(invariant) + ": " + what;
  }

  // Others may get a part of what a process stored last.
  void crash(std::uint32_t who) {
    actors_[who]->alive = false;
    for (const auto& reader : actors_) {
      const std::size_t seen = reader->position[who];
      reader->end[who] = seen + random_.below(actors_[who]->journal.size() - seen + 1);
    }
  }

  void look_for_the_dead(std::uint32_t who, bool looks) {
    for (std::uint32_t i = 0; i < actors_.size() && looks; ++i) {
      if (!actors_[i]->alive) actors_[who]->change().suspect(Rank(i), "it is dead");
    }
  }

  // The dead, and in runs with false accusations now and then anybody.
  views::RankSet quiet_for(std::uint32_t who) {
    views::RankSet quiet;
    for (std::uint32_t i = 0; i < actors_.size(); ++i) {
      if (i != who && (!actors_[i]->alive || (accused_ && random_.chance(1, 16)))) quiet.add(Rank(i));
    }
    return quiet;
  }

  // The words of a row in the order in which a pass reads them; all others come last.
  static std::size_t turn_of(const sst::RowLayout& row, std::uint64_t offset) {
    const std::uint64_t order[] = {row.suspected(0), row.suspected(1), row.decided(), row.accepted(),
                                   row.wedged(),     row.leaving(),    row.phase(),   row.epoch()};
    return static_cast<std::size_t>(std::find(std::begin(order), std::end(order), offset) - std::begin(order));
  }

  void pass(std::uint32_t who, Sight sight) {
    Actor& reader = *actors_[who];
    ++result_.passes;
    for (std::uint32_t i = 0; i < actors_.size(); ++i) {
      if (i != who && !reader.change().suspected().contains(Rank(i))) show(reader, i, sight);
    }
    const State before = reader.change().state();
    const std::uint64_t accepted = reader.word(reader.layout().accepted());
    const auto goes = reader.change().disputes().goes_by(Rank(who), reader.change().leader());
    const views::AccusationWatch::Finding weighed{goes, 0};
    reader.change().step(candidates_, true, {quiet_for(who), false, weighed});
    reader.note_stores();
    const State after = reader.change().state();
    if (after == State::decided && before != State::decided) check_decision(reader);
    if (after != State::decided && reader.word(reader.layout().accepted()) != accepted) check_acceptance(reader);
    for (std::uint32_t i = 0; i < actors_.size(); ++i) catch_up(reader, i);
  }

  // The copy of a row as this pass finds it: every word as of its own moment, none older than the word read before it.
  void show(Actor& reader, std::uint32_t of, Sight sight) {
    const Actor& writer = *actors_[of];
    const std::size_t end = std::min(reader.end[of], writer.journal.size());
    std::size_t& from = reader.position[of];
    std::array<std::size_t, 9> moments{};
    std::size_t at = sight == Sight::newest ? end : from + random_.below(end - from + 1);
    for (std::size_t& moment : moments) {
      moment = at;
      if (sight == Sight::torn) at += random_.below(end - at + 1);
    }
    result_.torn += moments.back() > moments.front() ? 1 : 0;
    for (std::size_t i = from; i < moments.back(); ++i) {
      const Store& store = writer.journal[i];
      if (i < moments[turn_of(writer.layout(), store.offset)]) put(reader, of, store);
    }
    shown_from_[of] = from;
    from = moments.back();
  }

  // A member that reads the row again finds nothing older than what was read last.
  void catch_up(Actor& reader, std::uint32_t of) {
    for (std::size_t i = shown_from_[of]; i < reader.position[of]; ++i) put(reader, of, actors_[of]->journal[i]);
    shown_from_[of] = reader.position[of];
  }
  static void put(Actor& reader, std::uint32_t of, const Store& store) {
    std::memcpy(reader.copy(of).data() + store.offset, &store.value, sizeof store.value);
  }

  // Per pass, suspicions are stored first: nobody proposes or follows a decree that removes one that it does not suspect. A
  // leader that proposes has taken up what it sees.
  void check_acceptance(Actor& actor) {
    const views::RankSet suspects = actor.suspected();
    const auto decree = views::decode(actor.decree_words(), view_);
    if (!decree) return violate("V7", "a decree that is none was accepted");
    if (!suspects.includes(decree->failed)) violate("V12", "a decree was accepted that removes who is not suspected");
    const std::uint64_t ballot = actor.word(actor.layout().accepted());
    for (std::uint32_t i = 0; i < actors_.size(); ++i) {
      if (actors_[ballot - 1].get() != &actor || actors_[i].get() == &actor || suspects.contains(Rank(i))) continue;
      const auto seen = [&](std::uint64_t offset) { return load_acquire(actor.copy(i).data() + offset); };
      if (!suspects.includes(suspects_of_row(actors_[i]->layout(), actors_.size(), seen)))
        violate("V12", "a proposal against a seen accusation");
    }
  }

  // V4, V7, V10.
  void check_decision(const Actor& actor) {
    const std::vector<std::uint64_t> words = actor.decree_words();
    if (decided_.empty()) decided_ = words;
    if (decided_ != words) return violate("V7", "two members decided differently");
    const auto consent = std::count_if(actors_.begin(), actors_.end(), [&](const auto& other) {
      return other->word(other->layout().accepted()) != 0 && other->decree_words() == words;
    });
    if (static_cast<std::size_t>(consent) * 2 <= actors_.size()) return violate("V4", "decided without a majority");
    for (std::uint32_t i = 0; i < actors_.size(); ++i) {
      for (std::size_t sender = 0; sender < 2; ++sender) {
        if (actor.change().decree().failed.contains(Rank(i))) continue;
        if (actor.change().decree().trim[0][sender] > actors_[i]->received(sender))
          violate("V10", "the trim has messages that a survivor has not");
      }
    }
  }

  void check_end() {
    std::size_t dead = 0;
    for (const auto& actor : actors_) dead += actor->alive ? 0 : 1;
    const auto leads = std::ranges::find_if(actors_, [](const auto& actor) { return actor->alive; }) - actors_.begin();
    const bool led_by_newcomer = newcomers_.contains(Rank(static_cast<std::uint32_t>(leads)));  // which stops
    const bool goes_on = dead * 2 < actors_.size() && !accused_ && !led_by_newcomer;
    for (const auto& actor : actors_) {
      const State state = actor->change().state();
      result_.decided += state == State::decided ? 1 : 0;
      result_.stuck += state == State::stuck ? 1 : 0;
      if (!actor->alive || !goes_on || state == State::decided) continue;
      if (state == State::steady && decided_.empty() && dead == 0) continue;  // nothing happened
      violate("V13", "a member does not come to the end of its view");
    }
  }

  Random random_;
  View view_;
  std::vector<views::RankSet> loaded_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<views::Candidate> candidates_;
  std::array<std::size_t, 8> shown_from_{};
  std::uint64_t crashes_ = 0;
  std::uint64_t accusations_ = 0;
  bool accused_ = false;
  views::RankSet newcomers_;
  std::vector<std::uint64_t> decided_;
  TornPassesResult result_;
};

}  // namespace

TornPassesResult run_torn_passes(std::uint64_t seed) { return Ending(seed).run(); }

}  // namespace spindrift::sim
