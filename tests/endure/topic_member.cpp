// A participant of a PERSISTENT topic that is killed and comes again, for tools/endure: it tells what history it was given,
// what it is about to write, and what was acknowledged.
//
//   topic_member CONFIG ID DEPTH
//
// Prints one JSON line {"history":{KEY:[NUMBER,...],...}}, waits for a line on standard input, and then writes samples of
// its own four keys with numbers that rise, DEPTH of each kept: {"try":N} before numbers up to N are written, {"acked":N}
// once they are acknowledged. It does not end by itself. Exit codes: 1: its participant has ended, or was refused, with the
// reason on standard error.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <dds/dds.hpp>

namespace {

struct Kept {
  std::uint32_t key;
  std::uint64_t number;
};

}  // namespace

template <>
struct dds::topic::topic_key<Kept> {
  using type = dds::topic::key_fields<&Kept::key>;
};

namespace {

using namespace dds::core::policy;
using dds::core::Duration;

constexpr std::uint32_t keys_of_each = 4;
constexpr std::uint64_t batches = 7;  // their sizes go round: 1 to so many samples

using Numbers = std::map<std::uint32_t, std::vector<std::uint64_t>>;  // by key, as they were given

void tell(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

Numbers history_at(const dds::domain::DomainParticipant& participant, const dds::topic::Topic<Kept>& topic) {
  const auto qos = dds::sub::qos::DataReaderQos() << Durability::Persistent() << Reliability::Reliable()
                                                  << History::KeepAll();
  dds::sub::DataReader<Kept> reader(dds::sub::Subscriber(participant), topic, qos);
  Numbers history;
  for (const auto& sample : reader.take()) {
    if (sample.info().valid()) history[sample.data().key].push_back(sample.data().number);
  }
  return history;
}

std::string words_of(const Numbers& history) {
  std::string words;
  for (const auto& [key, numbers] : history) {
    words += (words.empty() ? "\"" : ",\"") + std::to_string(key) + "\":[";
    for (const std::uint64_t number : numbers) words += (number == numbers.front() ? "" : ",") + std::to_string(number);
    words += "]";
  }
  return "{\"history\":{" + words + "}}";
}

/// The highest number of that participant's keys.
std::uint64_t last_of(std::uint32_t self, const Numbers& history) {
  std::uint64_t last = 0;
  for (const auto& [key, numbers] : history) {
    if (key / keys_of_each == self) last = std::max(last, numbers.back());
  }
  return last;
}

[[noreturn]] void write_on(dds::pub::DataWriter<Kept>& writer, std::uint32_t self, std::uint64_t number) {
  for (std::uint64_t batch = 1;; ++batch) {
    const std::uint64_t end = number + 1 + batch % batches;
    tell("{\"try\":" + std::to_string(end) + "}");
    while (number < end) {
      ++number;
      writer.write({self * keys_of_each + static_cast<std::uint32_t>(number % keys_of_each), number});
    }
    writer.wait_for_acknowledgments(Duration::from_secs(60));
    tell("{\"acked\":" + std::to_string(number) + "}");
  }
}

void run(const std::string& config, std::uint32_t self, int depth) {
  const dds::domain::DomainParticipant participant(0, {}, config);
  const dds::topic::Topic<Kept> topic(participant, "kept", dds::topic::qos::TopicQos() << Durability::Persistent());
  const Numbers history = history_at(participant, topic);
  tell(words_of(history));
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("nobody said to go on");
  const auto qos = dds::pub::qos::DataWriterQos()
                   << Durability::Persistent() << Reliability::Reliable(Duration::from_secs(60))
                   << DurabilityService(Duration::zero(), HistoryKind::KEEP_LAST, depth)
                   << WriterDataLifecycle::ManuallyDisposeUnregisteredInstances();
  dds::pub::DataWriter<Kept> writer(dds::pub::Publisher(participant), topic, qos);
  write_on(writer, self, last_of(self, history));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "topic_member CONFIG ID DEPTH\n";
    return 2;
  }
  try {
    run(argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), std::stoi(argv[3]));
  } catch (const std::exception& thrown) {
    std::cerr << "node " << argv[2] << ": " << thrown.what() << '\n';
  }
  return 1;
}
