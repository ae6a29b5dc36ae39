// Words of rows, from outside.
#include "rows.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include <spindrift/core/untrusted.hpp>

namespace spindrift::sim {

std::uint64_t Rows::word(const RowBook& book, std::uint64_t offset) { return load_acquire(book.memory + offset); }

views::RankSet Rows::suspected(const RowBook& book) { return book.suspects_now(); }

bool Rows::leads(const RowBook& book) { return suspected(book).includes(views::RankSet::first(book.rank.value())); }

void Rows::on_row(std::uint32_t process, Rank rank, const View& view, const std::byte* memory) {
  sst::RowLayout layout(view, view.members[rank.value()]);
  const std::uint64_t control = layout.control_bytes();
  RowBook& book =
      books_[view.id].try_emplace(process, RowBook{process, rank, &view, std::move(layout), memory}).first->second;
  book.before.resize(control);
  book.delivered.resize(view.subgroups.size());
  present_[process].push_back(&book);
  regions_[memory].view = view.id.value();
}

void Rows::on_ring(std::span<const std::byte> memory, const View& view, std::uint32_t process, std::uint32_t subgroup) {
  rings_.add(memory.data(), {view.id.value(), process, subgroup, true, memory.size()});
  if (const auto found = books_[view.id].find(process); found != books_[view.id].end())
    found->second.rings[subgroup] = memory.data();
}

void Rows::on_mirror(const std::byte* memory, ViewId view, std::uint32_t process) {
  const auto [region, fresh] = regions_.try_emplace(memory);
  if (!fresh) return;
  region->second.view = view.value();
  if (const auto found = books_[view].find(process); found != books_[view].end()) region->second.reader = &found->second;
}

void Rows::forget() {
  books_.clear();
  present_.clear();
  regions_.clear();
  rings_.forget();
  bulk_.forget();
  endings_.forget();
  ever_suspected_.clear();
}

void Rows::on_released(std::uint32_t process, ViewId view) {
  const auto found = books_[view].find(process);
  if (found == books_[view].end()) return;
  found->second.released = true;
  std::erase(present_[process], &found->second);
}

const RowBook* Rows::book(ViewId view, std::uint32_t process) const {
  const auto of_view = books_.find(view);
  if (of_view == books_.end()) return nullptr;
  const auto found = of_view->second.find(process);
  return found == of_view->second.end() ? nullptr : &found->second;
}

void Rows::after_step(std::uint32_t process) {
  std::vector<RowBook*>& books = present_[process];
  for (RowBook* const book : books) check_own(*book, books_[book->view->id]);
  if (!books.empty()) check_memory_of(*books.back());
}

// V8: a member that suspected an incarnation in one view takes it up in no later one.
void Rows::check_memory_of(RowBook& book) {
  std::set<std::uint64_t>& ever = ever_suspected_[book.process];
  const views::RankSet now = book.suspects_now();
  if (now == book.remembered && book.begun) return;
  for (std::uint32_t i = 0; i < book.view->members.size(); ++i) {
    const std::uint64_t incarnation = book.view->incarnations[i];
    if (now.contains(Rank(i))) {
      ever.insert(incarnation);
    } else if (!book.begun && ever.contains(incarnation)) {
      return report_.violate("V8", "process " + std::to_string(book.process) + " has forgotten in view " +
                                       std::to_string(book.view->id.value()) + " whom it suspected before");
    }
  }
  book.begun = true;
  book.remembered = now;
}

// S2: no word of the own row ever falls. V9: after `wedged`, what was received and who has the state are final.
void Rows::check_own(RowBook& book, const Endings::Books& books) {
  if (std::memcmp(book.before.data(), book.memory, book.before.size()) == 0) return;
  for (std::size_t at = 0; at < book.before.size(); at += sst::word_bytes) {
    if (load_acquire(book.memory + at) >= load_acquire(book.before.data() + at)) continue;
    return report_.violate("S2", "process " + std::to_string(book.process) + ": a word of its row fell");
  }
  if (book.earlier(book.layout.wedged()) != 0) {
    for (std::uint32_t s = 0; s < book.view->subgroups.size(); ++s) {
      const auto& block = book.layout.subgroup(SubgroupId(s));
      if (!block) continue;
      const std::size_t bytes = book.view->subgroups[s].senders.size() * sst::word_bytes;
      if (std::memcmp(book.before.data() + block->received_of, book.memory + block->received_of, bytes) != 0) {
        return report_.violate("V9", "process " + std::to_string(book.process) + ": a count changed after it wedged");
      }
      if (book.now(block->loaded) != book.earlier(block->loaded)) {
        return report_.violate("V9", "process " + std::to_string(book.process) + ": it got a state after it wedged");
      }
    }
  }
  if (book.now(book.layout.accepted()) != book.earlier(book.layout.accepted())) note_acceptance(book);
  endings_.on_change(book, books);
  std::memcpy(book.before.data(), book.memory, book.before.size());
}

void Rows::note_acceptance(const RowBook& book) {
  if (word(book, book.layout.accepted()) != book.rank.value() + 1 || word(book, book.layout.decided()) != 0) return;
  if (book.rank.value() > 0) report_.hit(Probe::took_over);
  bool adopted = book.earlier(book.layout.accepted()) != 0;
  for (const auto& [process, other] : books_[book.view->id]) {
    if (process == book.process || other.released) continue;
    const std::uint64_t ballot = word(other, other.layout.accepted());
    adopted |= ballot != 0 && ballot < book.rank.value() + 1 &&
               word(other, other.layout.decree()) == word(book, book.layout.decree());
  }
  if (adopted) report_.hit(Probe::takeover_adopted_a_decree);
}

bool Rows::consent_of_all_that_live(const View& view) {
  std::uint64_t living = 0;
  for (std::uint32_t i = 0; i < view.members.size(); ++i) living += endings_.crashed(view, Rank(i)) ? 0 : 1;
  std::set<std::uint64_t> accepted;  // one decree, though the dead may have accepted others
  for (const auto& [process, book] : books_[view.id]) {
    if (endings_.crashed(view, book.rank)) continue;
    if (!book.released && word(book, book.layout.accepted()) == 0) return false;
    if (!book.released) accepted.insert(word(book, book.layout.decree()));
    --living;
  }
  return living == 0 && accepted.size() <= 1;
}

// V4: what is decided was accepted by more than half of the view's members, a dead one's word counts; or by all that live.
void Rows::check_quorum(const View& view) {
  std::map<std::uint64_t, std::uint64_t> by_digest;
  std::uint64_t gone_on = 0;
  for (const auto& [process, book] : books_[view.id]) {
    if (book.released) {
      ++gone_on;
    } else if (word(book, book.layout.accepted()) != 0) {
      ++by_digest[word(book, book.layout.decree())];
    }
  }
  std::uint64_t most = 0;
  for (const auto& [digest, count] : by_digest) most = std::max(most, count);
  if ((most + gone_on) * 2 > view.members.size()) return;
  if (consent_of_all_that_live(view)) return;
  report_.violate("V4", "view " + std::to_string(view.id.value()) + " ended with the consent of " + std::to_string(most) +
                            " of " + std::to_string(view.members.size()) + " members");
}

void Rows::on_delivered(const View& view, std::uint32_t process, std::uint32_t subgroup, std::uint64_t sequence) {
  auto& books = books_[view.id];
  if (const auto own = books.find(process); own != books.end()) endings_.on_delivered(own->second, subgroup, sequence + 1);
  std::size_t holding = 0;
  for (const auto& [member, book] : books) {
    const auto& block = book.layout.subgroup(SubgroupId(subgroup));
    if (!block) continue;
    holding += book.released || word(book, block->received) > sequence ? 1 : 0;
  }
  if (holding == view.subgroups[subgroup].members.size()) return;
  report_.violate("M5w", "a message was delivered that not every member of view " + std::to_string(view.id.value()) +
                             " had acknowledged");
}

// V11: a write from a row of one view goes to a mirror of the same view.
void Rows::on_posted(const NetworkListener::Write& write) {
  if (write.copied) return;
  if (const auto place = bulk_.find(write.region)) return check_bulk_write(write, {place->region, write.offset});
  if (const auto ring = rings_.find(write.local)) return check_ring_write(write, *ring);
  const auto target = regions_.find(write.region);
  const auto source = regions_.find(write.local - write.offset);
  if (target == regions_.end() || source == regions_.end()) return;
  if (target->second.view == source->second.view) return;
  report_.violate("V11", "a write of view " + std::to_string(source->second.view) + " goes to memory of view " +
                             std::to_string(target->second.view));
}

// The same of a ring that is split off, whose bytes go to the ring's place in the mirror (S1).
void Rows::check_ring_write(const NetworkListener::Write& write, const BulkMemory::Place& source) {
  const auto target = regions_.find(write.region);
  if (target == regions_.end()) return;
  if (target->second.view != source.region->view) {
    return report_.violate("V11", "a write of view " + std::to_string(source.region->view) + " goes to memory of view " +
                                      std::to_string(target->second.view));
  }
  const RowBook* const own = book(ViewId(source.region->view), source.region->process);
  if (own == nullptr) return;
  const sst::SubgroupBlock& block = *own->layout.subgroup(SubgroupId(source.region->subgroup));
  if (write.from == source.region->process && write.offset == block.ring + source.offset) return;
  report_.violate("S1", "process " + std::to_string(write.from) + ": bytes of a ring go where they do not belong");
}

}  // namespace spindrift::sim
