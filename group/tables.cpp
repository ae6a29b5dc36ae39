// Making tables, and passing their rows to and from the shared state table.
#include <spindrift/group/tables.hpp>

#include <spindrift/core/log.hpp>

namespace spindrift::group {
namespace {

sst::ProgramTableHead head_of(std::string_view name, const TableForm& form, std::size_t words) {
  const std::string text = form.type + ' ' + std::to_string(form.bytes) + ' ' +
                           std::to_string(static_cast<unsigned>(form.rows));
  return {digest_of(name), digest_of(text), words};
}

}  // namespace

void Tables::begin(NodeId self, std::uint64_t table_bytes) {
  self_ = self;
  const std::lock_guard lock(mutex_);
  View shape;
  shape.table_bytes = table_bytes;
  shape.members = {NodeId(0)};
  places_.emplace(sst::RowLayout(shape, NodeId(0)));
}

void Tables::refuse_handlers(const std::string& what) const {
  if (!environment_.handler_threads->is_one()) return;
  throw Exception(Error(ErrorKind::would_block, "a handler cannot wait for " + what + ": the group waits for its return")
                      .fix("wait on a thread of the application, or watch the table"));
}

void Tables::call_poller() noexcept {
  work_.store(true, std::memory_order_seq_cst);
  environment_.fabric->wake();
}

TableCore& Tables::attach(std::string_view name, const TableForm& form) {
  environment_.state.check_open();
  if (name.empty()) throw Exception(Error(ErrorKind::bad_argument, "a table needs a name").fix("name it"));
  if (form.rows == TableRows::monotone && !form.counts) {
    throw Exception(Error(ErrorKind::bad_argument, "the monotone table " + std::string(name) + " has rows that are not "
                                                   "numbers of 64 bits alone")
                        .fix("make rows of std::uint64_t, or the table with TableRows::latest"));
  }
  TableCore& table = find_or_make(name, form);
  call_poller();
  if (!environment_.handler_threads->is_one()) table.await_look();
  return table;
}

TableCore& Tables::find_or_make(std::string_view name, const TableForm& form) {
  const std::lock_guard lock(mutex_);
  if (ended_) throw Exception(*ended_);
  for (const auto& each : tables_) {
    if (each->core->name() != name) continue;
    if (each->core->form() == form) return *each->core;
    throw Exception(Error(ErrorKind::bad_argument, "there is a table " + std::string(name) + " with rows of another type, "
                                                   "or with another rule for them")
                        .fix("name one of the two otherwise"));
  }
  auto core = std::make_unique<TableCore>(std::string(name), form, *this);
  if (!places_->add(core->words())) {
    throw Exception(Error(ErrorKind::resource, "table " + std::string(name) + " with rows of " + std::to_string(form.bytes) +
                                                   " bytes has no room beside " + std::to_string(tables_.size()) +
                                                   " others")
                        .fix("raise [SPINDRIFT] table_bytes at all members"));
  }
  core->on_view(view_, self_);
  const sst::ProgramTableHead head = head_of(name, form, core->words());
  made_.store(true, std::memory_order_seq_cst);  // before it is in the list, so that whoever finds it there sees this
  tables_.push_back(std::make_unique<Attached>(Attached{head, std::move(core)}));
  any_.store(true, std::memory_order_seq_cst);
  return *tables_.back()->core;
}

std::vector<Tables::Attached*> Tables::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Attached*> all;
  all.reserve(tables_.size());
  for (const auto& each : tables_) all.push_back(each.get());
  return all;
}

// Members read nothing of this view before this one says that it reads them, so nobody takes up a barrier's round that is
// over here.
void Tables::on_view(const View& view, sst::Table& own) {
  std::vector<Attached*> tables;
  {
    const std::lock_guard lock(mutex_);
    view_ = view;
    for (const auto& each : tables_) each->core->on_view(view, self_);
  }
  readers_.clear();
  made_.store(true, std::memory_order_seq_cst);
  look_due_ = true;
  write_changed(own);
}

bool Tables::write(sst::Table& own) {
  if (!work_.exchange(false, std::memory_order_seq_cst)) return false;
  look_due_ = true;
  write_changed(own);
  return true;
}

void Tables::write_changed(sst::Table& own) {
  bool any_written = false;
  const std::vector<Attached*> tables = all();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto content = tables[i]->core->take_own();
    if (!content) continue;
    const std::lock_guard lock(mutex_);  // of the places
    sst::write_program_table(own, *places_, i, tables[i]->head, *content);
    any_written = true;
  }
  if (any_written) sst::tell_of_program_tables(own);
}

void Tables::begin_reading(const sst::Table& table) {
  readers_.clear();
  all_seen_ = false;
  for (std::uint32_t i = 0; i < table.view().members.size(); ++i) readers_.emplace_back(table, Rank(i));
}

Tables::Look Tables::read(const sst::Table& table, bool begun) {
  Look look;
  bool complete = begun;
  if (made_.exchange(false, std::memory_order_seq_cst)) begin_reading(table);
  for (std::uint32_t i = 0; i < readers_.size(); ++i) {
    const Rank rank(i);
    // A row that is not read any more may have had rounds that are over: a newcomer comes to none before the next view.
    if (rank != table.self() && table.attached(rank) && table.frozen(rank)) complete = false;
    if (rank == table.self() || !table.attached(rank) || table.frozen(rank)) continue;
    const NodeId node = table.view().members[i];
    bool possible = true;
    const auto found = readers_[i].look([&](const sst::ProgramTableHead& head, std::span<const std::uint64_t> content) {
      possible = possible && take(node, head, content);
    });
    look_due_ |= found != sst::ProgramTableReader::Found::nothing;
    complete &= found != sst::ProgramTableReader::Found::unfinished;
    if (!possible) look.faults.push_back({node, "it wrote an impossible row into a table of the program's"});
    if (found == sst::ProgramTableReader::Found::impossible) look.faults.push_back({node, readers_[i].fault()});
  }
  if (complete && !all_seen_) all_seen_ = look_due_ = true;
  if (!std::exchange(look_due_, false)) return look;
  look.any = true;
  const std::vector<Attached*> tables = all();
  complete = complete && !made_.load(std::memory_order_seq_cst);  // one that came meanwhile has not seen what was taken
  for (Attached* const each : tables) {
    if (const auto* handler = each->core->on_look(complete)) look.handlers.push_back(handler);
  }
  return look;
}

bool Tables::take(NodeId node, const sst::ProgramTableHead& head, std::span<const std::uint64_t> content) {
  for (Attached* const each : all()) {
    if (each->head == head) return each->core->on_row(node, content);
    if (each->head.name != head.name) continue;
    each->core->on_other_form(node);
    if (!told_.insert({node, each->core->name()}).second) continue;
    log::warn(log::Room::group, "a member has another table under this name: its row is not seen here",
              {{"node", node}, {"table", each->core->name()}, {"fix", "run the same program at all members"}});
  }
  return true;
}

void Tables::on_end(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = why;
  }
  for (Attached* const each : all()) each->core->on_end(why);
}

}  // namespace spindrift::group
