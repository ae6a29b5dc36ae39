// A program with types of its own, beside which tests run `spindrift topic`: it makes two topics of domain 0, prints what is
// written to them, and writes what standard input says, one command per line, each answered with "done".
#include <algorithm>
#include <iostream>
#include <mutex>
#include <sstream>

#include <dds/dds.hpp>
#include <spindrift/dds/status_board.hpp>
#include <spindrift/dds/topic_observer.hpp>

namespace peer {

enum class Mode : std::uint8_t { off, on };
struct Reading {
  std::int32_t sensor;
  double value;
  Mode mode;
  std::array<std::uint16_t, 2> counts;
};
struct Note {
  std::string text;
  std::vector<std::string> words;
  std::optional<std::int64_t> number;
};

}  // namespace peer

template <>
struct dds::topic::topic_key<peer::Reading> {
  using type = key_fields<&peer::Reading::sensor>;
};
template <>
struct dds::topic::topic_field_names<peer::Reading> {
  static constexpr std::array names{"sensor", "value", "mode", "counts"};
};

namespace {

std::mutex output;
void say(const std::string& line) {
  const std::lock_guard lock(output);
  std::cout << line << std::endl;
}

std::string words_of(const peer::Reading& reading) {
  std::ostringstream text;
  text << "reading " << reading.sensor << ' ' << reading.value << ' ' << static_cast<int>(reading.mode) << ' '
       << reading.counts[0] << ' ' << reading.counts[1];
  return text.str();
}
std::string words_of(const peer::Note& note) {
  return "note " + note.text + ' ' + std::to_string(note.words.size()) + ' ' +
         (note.number ? std::to_string(*note.number) : "none");
}

template <class T>
class Printer : public dds::sub::NoOpDataReaderListener<T> {
 public:
  void on_data_available(dds::sub::DataReader<T>& reader) override {
    for (const auto& each : reader.take()) {
      if (each.info().valid()) say(words_of(each.data()));
    }
  }
};

template <class T>
struct Ends {
  Ends(const dds::domain::DomainParticipant& participant, const char* name, const dds::topic::qos::TopicQos& qos)
      : topic(participant, name, qos), writer(dds::pub::Publisher(participant), topic, writer_qos(qos)), reader([&] {
          dds::sub::qos::DataReaderQos wanted(qos);
          wanted << dds::core::policy::History::KeepLast(65535);  // all of any test, however late they are printed
          return dds::sub::DataReader<T>(dds::sub::Subscriber(participant), topic, wanted, &printer,
                                         dds::core::status::StatusMask::data_available());
        }()) {}
  ~Ends() { reader.listener(nullptr, dds::core::status::StatusMask::none()); }
  static dds::pub::qos::DataWriterQos writer_qos(const dds::topic::qos::TopicQos& qos) {
    return dds::pub::qos::DataWriterQos(qos);
  }

  Printer<T> printer;
  dds::topic::Topic<T> topic;
  dds::pub::DataWriter<T> writer;
  dds::sub::DataReader<T> reader;
};

/// A topic whose reader takes nothing and misses nothing, and that is written to until nothing goes in any more.
struct Full {
  explicit Full(const dds::domain::DomainParticipant& participant)
      : topic(participant, "full"),
        reader(dds::sub::Subscriber(participant), topic,
               dds::sub::qos::DataReaderQos()
                   << dds::core::policy::Reliability::Reliable() << dds::core::policy::History::KeepAll()
                   << dds::core::policy::ResourceLimits(10)),
        writer(dds::pub::Publisher(participant), topic) {
    try {
      for (;;) writer.write({1, 0, peer::Mode::on, {1, 2}});
    } catch (const dds::core::TimeoutError&) {
    }
  }
  ~Full() { reader.take(); }

  dds::topic::Topic<peer::Reading> topic;
  dds::sub::DataReader<peer::Reading> reader;
  dds::pub::DataWriter<peer::Reading> writer;
};

/// Returns when the domain's file has both ends of so many topics: whoever looks from then on sees them.
void await_shown(std::size_t count) {
  const dds::domain::DomainObserver domain(0);
  const auto both = [](const auto& topic) { return !topic.writers.empty() && !topic.readers.empty(); };
  auto& bell = spindrift::topics::ProcessBell::of_process();
  for (;;) {
    const auto rung = bell.rung();
    if (std::ranges::count_if(domain.delegate()->topics(), both) == static_cast<std::ptrdiff_t>(count)) return;
    bell.wait(rung, std::chrono::steady_clock::now() + std::chrono::seconds(20));
  }
}

}  // namespace

int main() {
  const dds::domain::DomainParticipant participant(0);
  dds::topic::qos::TopicQos kept;
  kept << dds::core::policy::Durability::TransientLocal();
  Ends<peer::Reading> readings(participant, "readings", {});
  Ends<peer::Note> notes(participant, "notes", kept);
  std::optional<dds::topic::Topic<peer::Note>> later;
  std::optional<Full> full;
  await_shown(2);
  say("ready");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, text;
    peer::Reading reading{0, 0, peer::Mode::on, {1, 2}};
    words >> what;
    if (what == "reading" && words >> reading.sensor >> reading.value) readings.writer.write(reading);
    if (what == "dispose" && words >> reading.sensor) readings.writer.dispose_instance(reading);
    if (what == "note" && words >> text) notes.writer.write({text, {"a", "b"}, std::nullopt});
    if (what == "burst" && words >> reading.sensor) {
      for (; reading.value < 50; ++reading.value) readings.writer.write(reading);
    }
    if (what == "later") later.emplace(participant, "later");
    if (what == "hold") full.emplace(participant);
    say("done");
  }
}
