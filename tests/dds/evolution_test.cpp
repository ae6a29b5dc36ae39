// Types of one name with more and fewer fields.
#include <catch2/catch.hpp>

#include <spindrift/dds/assignable.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace spindrift::topics;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::topic::Topic;

namespace {

struct Note1 {
  std::int32_t id;
  std::string text;
};
struct Note2 {
  std::int32_t id;
  std::string text;
  double weight = 0.5;
  std::vector<std::string> tags{};
};
struct OtherNote {
  std::int32_t id;
  std::string text;
  std::int64_t number;
};

}  // namespace

template <>
struct dds::topic::topic_type_name<Note1> {
  static std::string value() { return "Note"; }
};
template <>
struct dds::topic::topic_key<Note1> {
  using type = key_fields<&Note1::id>;
};
template <>
struct dds::topic::topic_type_name<Note2> {
  static std::string value() { return "Note"; }
};
template <>
struct dds::topic::topic_key<Note2> {
  using type = key_fields<&Note2::id>;
};
template <>
struct dds::topic::topic_type_name<OtherNote> {
  static std::string value() { return "Note"; }
};
template <>
struct dds::topic::topic_key<OtherNote> {
  using type = key_fields<&OtherNote::id>;
};

TEST_CASE("types are assignable whose fields are the first ones of the other, and which travel as CDR") {
  const std::string one = "N{i32,string} key=0";
  CHECK(assignable(one, one));
  CHECK(assignable(one, "N{i32,string,f64} key=0"));
  CHECK(assignable("N{i32,string,f64} key=0", one));
  CHECK(assignable("N{anonymous}::N{i32,string}", "N{anonymous}::N{i32,string,M{i8,i8}}"));
  CHECK_FALSE(assignable(one, "N{i32,string,f64}"));
  CHECK_FALSE(assignable(one, "M{i32,string,f64} key=0"));
  CHECK_FALSE(assignable(one, "N{i32,f64,string} key=0"));
  CHECK_FALSE(assignable("N{string,P{i32}}", "N{string,P{i32,i32}}"));
  CHECK_FALSE(assignable("N{string,P{i32,i8},i8}", "N{string,P{i32,i8,i8}}"));
  CHECK_FALSE(assignable("N{sequence<i32>}", "N{sequence<i64>,i8}"));
  CHECK_FALSE(assignable("N{i32} in place, 4 bytes", "N{i32,i32} in place, 8 bytes"));
  CHECK_FALSE(assignable("N{i32} in place, 4 bytes", "N{i32,string}"));
  CHECK_FALSE(assignable("N{i32} in place, 4 bytes", "N{i32,i32} in place, 4 bytes"));
  CHECK(shorter_identities("N{i32,string,f64} key=0").at(2) == spindrift::digest_of(one).words[0]);
  CHECK(shorter_identities("N{i32} in place, 4 bytes").empty());
}

TEST_CASE("programs with more and with fewer fields read each other, what was kept as well as what comes") {
  const Domain domain;
  const DomainParticipant old_one(0), new_one(0);
  const auto keeping = dds::topic::qos::TopicQos() << Durability::Transient();
  const Topic<Note1> here(old_one, "notes", keeping);
  DataWriter<Note1> writes_old(Publisher(old_one), here);
  writes_old.write({1, "kept"});
  writes_old.wait_for_acknowledgments(Duration::from_secs(20));
  const Topic<Note2> there(new_one, "notes", keeping);
  DataReader<Note2> reads_new(Subscriber(new_one), there, all_of() << Durability::Transient());
  DataReader<Note1> reads_old(Subscriber(old_one), here, all_of());
  DataWriter<Note2> writes_new(Publisher(new_one), there);
  const auto kept = take(reads_new, 1);
  CHECK(kept.at(0).data().text == "kept");
  CHECK(kept.at(0).data().weight == 0.5);
  writes_old.write({2, "old"});
  CHECK(take(reads_new, 1).at(0).data().text == "old");
  writes_new.write({1, "new", 2.5, {"a", "b"}});
  const auto of_new = take(reads_new, 1);
  CHECK(of_new.at(0).data().weight == 2.5);
  CHECK(of_new.at(0).data().tags.size() == 2);
  CHECK(of_new.at(0).info().instance_handle() == kept.at(0).info().instance_handle());
  const auto of_old = take(reads_old, 2);
  CHECK(of_old.at(0).data().text == "old");
  CHECK(of_old.at(1).data().text == "new");
  CHECK(reads_old.sample_lost_status().total_count() == 0);
  DataReader<Note1> late(Subscriber(old_one), here, all_of() << Durability::Transient());
  CHECK(take(late, 2).at(1).data().text == "new");  // of each instance the last
  CHECK_THAT(words_of<dds::core::PreconditionNotMetError>([&] {
               const DomainParticipant third(0);
               const Topic<OtherNote> other(third, "notes");
             }),
             Contains("its type is another one") && Contains(": field 3 is i64 here, and f64 there: "));
}

TEST_CASE("a sample of fewer fields that is cut off, or has more than it says, is none") {
  const auto bytes = with_encoded(Note1{1, "abc"}, [](auto all) { return std::vector(all.begin(), all.end()); });
  const auto& support = type_support<Note2>();
  CHECK(support.decode_other(bytes, 2, false));
  CHECK_FALSE(support.decode_other(bytes, 1, false));
  CHECK_FALSE(support.decode_other(bytes, 3, false));
  CHECK_FALSE(support.decode_other(std::span(bytes).first(bytes.size() - 1), 2, false));
  const auto longer = with_encoded(Note2{1, "abc"}, [](auto all) { return std::vector(all.begin(), all.end()); });
  CHECK(type_support<Note1>().decode_other(longer, SIZE_MAX, true));
  CHECK_FALSE(type_support<Note1>().decode_other(std::span(longer).first(10), SIZE_MAX, true));
  CHECK(type_support<Reading>().decode_other == nullptr);
}
