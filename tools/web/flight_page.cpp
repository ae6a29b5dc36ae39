// Reading topics, and frames of what they say: twenty a second with the flight, two a second with rates and members.
#include "web/flight_page.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "exit_code.hpp"
#include "flight/plan.hpp"
#include "group_option.hpp"
#include "json_output.hpp"
#include "topic_session.hpp"
#include "web/member_board.hpp"
#include "web/page_server.hpp"
#include "web/topic_meter.hpp"
#include "web/track.hpp"

namespace spindrift::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::chrono::milliseconds frame_every{50};
constexpr std::chrono::milliseconds summary_every{500};

/// Fields that the page draws, of the last sample of a topic's first instance.
struct ShownTopic {
  const char* topic;
  std::vector<const char*> fields;
};
const std::array<ShownTopic, 5> shown_topics{
    {{"vehicle_attitude", {"timestamp", "q"}},
     {"vehicle_local_position", {"timestamp", "xy_valid", "x", "y", "z", "vx", "vy", "vz"}},
     {"vehicle_gps_position", {"timestamp", "fix_type", "lat", "lon", "vel_m_s"}},
     {"airspeed", {"true_airspeed_m_s"}},
     {"battery_status", {"voltage_v", "remaining"}}}};

/// One topic of the domain that is read here.
class ShownReader {
 public:
  ShownReader(topics::DynamicReader reader, const ShownTopic* shown) : reader_(std::move(reader)), shown_(shown) {}

  struct Taken {
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
    Json last;  ///< the fields that are shown; null: nothing new
  };
  [[nodiscard]] Taken take() {
    Taken taken;
    std::shared_ptr<const topics::DynamicSample> last;
    for (const topics::DynamicRead& each : reader_.take()) {
      if (!each.sample) continue;
      ++taken.samples;
      taken.bytes += each.sample->bytes().size();
      if (shown_ != nullptr && is_first_instance(*each.sample)) last = each.sample;
    }
    if (last) taken.last = fields_of(*last);
    return taken;
  }
  [[nodiscard]] std::uint64_t lost() const { return reader_.lost(); }

 private:
  /// The instance is the last field of all types of a flight, and a byte.
  static bool is_first_instance(const topics::DynamicSample& sample) { return sample.bytes().back() == std::byte{0}; }
  [[nodiscard]] Json fields_of(const topics::DynamicSample& sample) const {
    const topics::SampleJson json = sample.json();
    Json fields = Json::object();
    for (const char* const name : shown_->fields) {
      if (json.contains(name)) fields[name] = json[name];
    }
    return fields;
  }

  topics::DynamicReader reader_;
  const ShownTopic* shown_;
};

class FlightPage {
 public:
  FlightPage(const Config& config, const TopicOptions& options, int socket)
      : place_(place_of(config)),
        board_(value_or_throw(flight_view(config)).members),
        session_(options, {.on_view = [this](const NewView& news) { board_.on_view(news); }}),
        server_(FileDescriptor(socket), hub_, [this] { return Json{{"track", track_.json()}}.dump(); }) {}

  void run() {
    auto due = Clock::now();
    auto summary_due = due;
    while (!session_.stopped()) {
      if (const auto failure = session_.failure()) throw Exception(*failure);
      const auto now = Clock::now();
      Json frame = flight(now);
      if (now >= summary_due) {
        summary_due = now + summary_every;
        add_readers();
        frame.update(summary(now));
      }
      if (!frame.empty()) hub_.publish(one_line_of(frame));
      due = std::max(due + frame_every, now);
      await(due);
    }
  }

 private:
  void await(Clock::time_point due) const {
    while (!session_.stopped() && !session_.failure() && Clock::now() < due) {
      const std::uint64_t seen = topics::DynamicParticipant::changes();
      topics::DynamicParticipant::await_change(seen, due);
    }
  }

  void add_readers() {
    for (const topics::AnnouncedTopic& topic : session_.participant().topics()) {
      if (readers_.contains(topic.name) || topic.type == nullptr) continue;
      const auto shown = std::ranges::find(shown_topics, topic.name, &ShownTopic::topic);
      readers_.emplace(topic.name, ShownReader(session_.participant().read(topic, {}),
                                               shown == shown_topics.end() ? nullptr : &*shown));
    }
  }

  Json flight(Clock::time_point now) {
    Json frame;
    for (auto& [name, reader] : readers_) {
      ShownReader::Taken taken = reader.take();
      meter_.add(name, taken.samples, taken.bytes, now);
      if (taken.last.is_null()) continue;
      add_place(name, taken.last, frame);
      frame["flight"][name] = std::move(taken.last);
    }
    return frame;
  }

  void add_place(const std::string& topic, const Json& sample, Json& frame) {
    Json place;
    if (topic == "vehicle_local_position") place = track_.add_local(sample);
    if (topic == "vehicle_gps_position") place = track_.add_gps(sample);
    if (!place.is_null()) frame["flight"]["place"] = std::move(place);
  }

  Json summary(Clock::time_point now) {
    if (const auto report = read_group(place_.directory)) board_.on_report(*report);
    Json made = board_.json();
    made["topics"] = Json::array();
    for (const auto& [name, row] : meter_.rows()) {
      made["topics"].push_back(
          {{"name", name}, {"rate", meter_.rate(row, now)}, {"samples", row.samples}, {"bytes", row.bytes}});
    }
    std::uint64_t lost = 0;
    for (const auto& [name, reader] : readers_) lost += reader.lost();
    made["lost"] = lost;
    made["self"] = session_.participant().id().node;
    made["browsers"] = server_.streams();
    return made;
  }

  const GroupPlace place_;
  MemberBoard board_;
  Track track_;
  TopicMeter meter_{Clock::now()};
  FrameHub hub_;
  TopicSession session_;
  std::map<std::string, ShownReader> readers_;
  PageServer server_;
};

void tell(int report, const std::string& reason) {
  const std::string line = reason + "\n";
  [[maybe_unused]] const auto written = ::write(report, line.data(), line.size());
}

}  // namespace

int run_flight_page(const FlightPageOptions& options) {
  try {
    TopicOptions participant;
    static_cast<CommandOptions&>(participant) = options;
    FlightPage(load_config(options), participant, options.socket).run();
    return number(ExitCode::success);
  } catch (const Exception& failure) {
    tell(options.report, failure.what());
    return number(exit_code_of(failure.error().kind()));
  } catch (const std::exception& failure) {
    tell(options.report, failure.what());
    return number(ExitCode::failure);
  }
}

}  // namespace spindrift::tools
