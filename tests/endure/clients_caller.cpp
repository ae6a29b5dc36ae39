// A client that writes into the book of clients_member.cpp, for tools/endure, and tells what it asked and what it was told.
//
//   clients_caller write ADDRESS CLIENT     until SIGTERM, or until it is killed; 0: all was answered, as it should
//   clients_caller read ADDRESS             prints all entries by their places, a line "CLIENT NUMBER" each
//
// Lines of write: "try N" before numbers up to N are entered, "answer N PLACE" for each answer. Exit code 1: a request
// failed, or a query saw what it should not, with the reason on standard error.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <spindrift/group/client.hpp>

#include "clients_book.hpp"

namespace {

using namespace spindrift;

constexpr std::size_t under_way = 16;           // numbers that are entered at once
constexpr std::uint64_t part_entries = 50'000;  // below a result's most bytes

volatile std::sig_atomic_t ended = 0;

class Writer {
 public:
  Writer(ClientObject<Book> book, std::uint32_t self) : book_(std::move(book)), self_(self) {}

  void write() {
    while (ended == 0) {
      if (open_.size() < under_way) enter_some();
      take_one();
      if (answered_ % 64 == 0) check_ordered();
      if (answered_ % 16 == 0) check_own();
    }
    while (!open_.empty()) take_one();
    check_ordered();
  }

 private:
  struct Open {
    std::uint64_t number;
    ClientFuture<std::uint64_t> place;
  };

  void enter_some() {
    const std::uint64_t last = tried_ + under_way - open_.size();
    std::printf("try %llu\n", static_cast<unsigned long long>(last));
    std::fflush(stdout);
    while (tried_ < last) {
      ++tried_;
      open_.push_back({tried_, book_.update<&Book::enter>(self_, tried_)});
    }
  }
  void take_one() {
    const Open& oldest = open_.front();
    place_ = oldest.place.get();
    number_ = oldest.number;
    as_of_ = oldest.place.place();
    std::printf("answer %llu %llu\n", static_cast<unsigned long long>(number_), static_cast<unsigned long long>(place_));
    std::fflush(stdout);
    open_.pop_front();
    ++answered_;
  }
  /// A linearizable query sees all that was answered, and no more than what was tried.
  void check_ordered() {
    const std::uint64_t seen = book_.ordered_query<&Book::count_of>(self_).get();
    if (seen >= answered_ && seen <= tried_) return;
    throw std::runtime_error("an ordered query saw " + std::to_string(seen) + " entries, when " + std::to_string(answered_) +
                             " of " + std::to_string(tried_) + " were answered");
  }
  /// A query that is given the last answer's place sees that entry, whichever member answers.
  void check_own() {
    if (book_.query_after<&Book::at>(as_of_, place_).get() == Book::Entry(self_, number_)) return;
    throw std::runtime_error("a query behind the answer to number " + std::to_string(number_) + " saw another entry there");
  }

  ClientObject<Book> book_;
  const std::uint32_t self_;
  std::deque<Open> open_;
  std::uint64_t tried_ = 0, answered_ = 0;
  std::uint64_t number_ = 0, place_ = 0;  // of the last answer
  MessagePlace as_of_;
};

void read(ClientObject<Book> book) {
  for (std::uint64_t from = 0;;) {
    const auto part = book.ordered_query<&Book::part>(from, part_entries).get();
    for (const auto& [client, number] : part) std::printf("%u %llu\n", client, static_cast<unsigned long long>(number));
    if (part.size() < part_entries) return;
    from += part.size();
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if ((what != "write" || count != 4) && (what != "read" || count != 3)) {
    std::fputs("clients_caller write ADDRESS CLIENT\nclients_caller read ADDRESS\n", stderr);
    return 2;
  }
  std::signal(SIGTERM, [](int) { ended = 1; });
  try {
    ClientOptions options;
    options.members = {arguments[2]};
    options.give_up_after = std::chrono::seconds(120);
    options.answer_within = std::chrono::milliseconds(500);
    Client client(std::move(options));
    if (what == "read")
      read(client.replicated<Book>("book"));
    else
      Writer(client.replicated<Book>("book"), static_cast<std::uint32_t>(std::stoul(arguments[3]))).write();
    return EXIT_SUCCESS;
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%s\n", thrown.what());
    return EXIT_FAILURE;
  }
}
