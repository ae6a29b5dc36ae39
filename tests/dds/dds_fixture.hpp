// A domain of this test's own: a runtime directory that no other test uses, and types of samples.
#pragma once

#include <catch2/catch.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <dds/dds.hpp>
#include <spindrift/dds/domain_core.hpp>

namespace spindrift::test {

struct Reading {
  std::int32_t sensor;
  std::int64_t value;
};
struct Line {
  std::string text;
};
/// The names of these two are one.
struct OtherReading {
  std::int32_t sensor;
  double value;
};

/// Participants that are made while it lives meet each other, and nobody else.
class Domain {
 public:
  Domain() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spindrift-dds-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    ::setenv("SPINDRIFT_RUNTIME_DIRECTORY", directory_.c_str(), 1);
  }
  ~Domain() {
    ::unsetenv("SPINDRIFT_RUNTIME_DIRECTORY");
    topics::await_endings();
    std::filesystem::remove_all(directory_);
  }
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

/// For a reader that misses nothing.
inline dds::sub::qos::DataReaderQos all_of() {
  return dds::sub::qos::DataReaderQos() << dds::core::policy::Reliability::Reliable()
                                        << dds::core::policy::History::KeepAll();
}

/// Tells the parent of a process that was forked since that something is done there.
class Signal {
 public:
  Signal() { REQUIRE(::pipe(ends_.data()) == 0); }
  ~Signal() {
    for (const int end : ends_) ::close(end);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  /// The child's, which ends where it cannot.
  void give() const {
    if (::write(ends_[1], "!", 1) != 1) ::_exit(1);
  }
  void await() const {
    char word = 0;
    REQUIRE(::read(ends_[0], &word, 1) == 1);
  }

 private:
  std::array<int, 2> ends_{};
};

/// Takes until so many samples with data are there, which a wait-set waits for.
template <class T>
std::vector<dds::sub::Sample<T>> take(dds::sub::DataReader<T>& reader, std::size_t count) {
  std::vector<dds::sub::Sample<T>> taken;
  dds::core::cond::WaitSet waitset;
  waitset += dds::sub::cond::ReadCondition(reader, dds::sub::status::DataState::any());
  while (taken.size() < count) {
    waitset.wait(dds::core::Duration::from_secs(20));
    for (const auto& each : reader.take()) {
      if (each.info().valid()) taken.push_back(each);
    }
  }
  return taken;
}

/// Waits until some status of the entity changes to what is asked for.
template <class Entity, class Holds>
void await(const Entity& entity, const Holds& holds) {
  dds::core::cond::WaitSet waitset;
  waitset += dds::core::cond::StatusCondition(entity);
  while (!holds()) waitset.wait(dds::core::Duration::from_secs(20));
}

/// The words of what the call throws of that kind; empty: nothing.
template <class Expected, class Call>
std::string words_of(const Call& call) {
  try {
    call();
  } catch (const Expected& thrown) {
    return thrown.what();
  }
  return {};
}

}  // namespace spindrift::test

template <>
struct dds::topic::topic_key<spindrift::test::Reading> {
  using type = key_fields<&spindrift::test::Reading::sensor>;
};
template <>
struct dds::topic::topic_type_name<spindrift::test::OtherReading> {
  static std::string value() { return "spindrift::test::Reading"; }
};
