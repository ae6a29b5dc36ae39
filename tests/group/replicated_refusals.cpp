// Mistakes that must not compile, each with the words that the compiler has to say; read by refusals.sh.
#include <spindrift/persistent.hpp>
#include <spindrift/replicated.hpp>

#include <string_view>

struct Counter {
  int add(int amount) { return value += amount; }
  int get() const { return value; }
  int unlisted() { return value; }
  int hidden() const { return value; }
  int value = 0;
  using Methods = spindrift::Replicates<&Counter::add, &Counter::get>;
};

void use(spindrift::Replicated<Counter>& counter) {
  counter.update<&Counter::add>(1);
  counter.post<&Counter::add>(1);
  counter.ordered_query<&Counter::get>();
  counter.query_at<&Counter::get>(spindrift::NodeId(1));
  counter.query_all<&Counter::get>();
  counter.ordered_query_at<&Counter::get>(spindrift::NodeId(1));
  static_cast<void>(counter.query<&Counter::get>());
#if MISTAKE == 1  // what only reads is called with query<>
  counter.update<&Counter::get>();
#elif MISTAKE == 2  // what changes the object is called with update<>
  static_cast<void>(counter.query<&Counter::add>(1));
#elif MISTAKE == 3  // what changes the object is called with update<>
  counter.ordered_query<&Counter::add>(1);
#elif MISTAKE == 4  // not in the type's list of Methods
  counter.update<&Counter::unlisted>();
#elif MISTAKE == 5  // what only reads is called with query<>
  counter.post<&Counter::get>();
#elif MISTAKE == 8  // takes as many arguments as the method has parameters
  counter.update<&Counter::add>(1, 2);
#elif MISTAKE == 9  // an argument cannot be converted
  counter.update<&Counter::add>("one");
#elif MISTAKE == 13  // what changes the object is called with update<>
  counter.query_at<&Counter::add>(spindrift::NodeId(1), 1);
#elif MISTAKE == 14  // what changes the object is called with update<>
  counter.query_all<&Counter::unlisted>();
#elif MISTAKE == 15  // not in the type's list of Methods
  counter.query_all<&Counter::hidden>();
#elif MISTAKE == 16  // takes as many arguments as the method has parameters
  counter.query_at<&Counter::get>(spindrift::NodeId(1), 1);
#elif MISTAKE == 17  // what changes the object is called with update<>
  counter.ordered_query_at<&Counter::add>(spindrift::NodeId(1), 1);
#elif MISTAKE == 10  // takes as many arguments as the method has parameters
  static_cast<void>(counter.query<&Counter::get>(1));
#endif
}

#if MISTAKE == 6  // a replicated method takes values
struct Borrower {
  void watch(std::string_view) {}
  using Methods = spindrift::Replicates<&Borrower::watch>;
};
void use(spindrift::Replicated<Borrower>& borrower) { borrower.update<&Borrower::watch>("text"); }
#elif MISTAKE == 7  // a replicated method takes values
struct Filler {
  void fill(int& to) { to = 1; }
  using Methods = spindrift::Replicates<&Filler::fill>;
};
void use(spindrift::Replicated<Filler>& filler) { filler.update<&Filler::fill>(1); }
#elif MISTAKE == 11  // cannot be written as bytes
class Sealed {
  int inside_ = 0;
};
struct Keeper {
  void keep(Sealed) {}
  using Methods = spindrift::Replicates<&Keeper::keep>;
};
void use(spindrift::Group& group) { static_cast<void>(group.replicated<Keeper>("keeper")); }
#elif MISTAKE == 12  // must be default-constructible
struct Numbered {
  explicit Numbered(int) {}
};
struct Taker {
  void take(Numbered) {}
  using Methods = spindrift::Replicates<&Taker::take>;
};
void use(spindrift::Group& group) { static_cast<void>(group.replicated<Taker>("taker")); }
#elif MISTAKE == 18  // a non-const method of FormerMethods is not in the list of Methods
struct Forgetful {
  void note(int) {}
  void strike(int) {}
  using Methods = spindrift::Replicates<&Forgetful::note>;
  using FormerMethods = spindrift::Formerly<spindrift::Replicates<&Forgetful::note, &Forgetful::strike>>;
};
void use(spindrift::Group& group) { static_cast<void>(group.replicated<Forgetful>("forgetful")); }
#elif MISTAKE == 19  // is part of a saved state where its type, and that one's Delta, can be made by default
struct Entry {
  explicit Entry(int value) : value(value) {}
  int value;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
struct Archivist {
  void note(int value) { last.set(Entry(value)); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(last);
  }
  spindrift::Persistent<Entry> last{Entry(0)};
  using Methods = spindrift::Replicates<&Archivist::note>;
};
void use(spindrift::Group& group) { static_cast<void>(group.replicated<Archivist>("archivist")); }
#endif
