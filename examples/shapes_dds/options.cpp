// Options, most of which are a policy of writers, readers or both.
#include "options.hpp"

#include <functional>
#include <map>
#include <stdexcept>

using namespace dds::core::policy;

namespace {

constexpr const char* usage =
    "shapes_dds -P|-S [-d DOMAIN] [-t TOPIC] [-c COLOR] [-n COUNT] [-b|-r] [-k DEPTH, 0: all] [-f DEADLINE_MS]\n"
    "  [-s STRENGTH, of exclusive owners] [-p PARTITION] [-D v|l|t|p] [-i FILTER_MS] [-l LIFESPAN_MS] [-z SIZE]\n"
    "  [-w WRITE_PERIOD_MS] [-a BYTES_MORE] [-F u|d, the final state of the instance]";

dds::core::Duration milliseconds(const std::string& text) { return dds::core::Duration::from_millisecs(std::stoi(text)); }

template <class Policy>
void set_both(ShapeOptions& options, const Policy& policy) {
  options.writer_qos << policy;
  options.reader_qos << policy;
}

Durability durability_of(const std::string& text) {
  if (text == "l") return Durability::TransientLocal();
  if (text == "t") return Durability::Transient();
  if (text == "p") return Durability::Persistent();
  if (text == "v") return Durability::Volatile();
  throw std::invalid_argument(usage);
}

using Set = std::function<void(ShapeOptions& options, const std::string& value)>;

const std::map<std::string, Set> flags{
    {"-P", [](ShapeOptions& options, const std::string&) { options.publish = true; }},
    {"-S", [](ShapeOptions& options, const std::string&) { options.publish = false; }},
    {"-b", [](ShapeOptions& options, const std::string&) { set_both(options, Reliability::BestEffort()); }},
    {"-r", [](ShapeOptions& options, const std::string&) { set_both(options, Reliability::Reliable()); }}};

const std::map<std::string, Set> values{
    {"-d", [](ShapeOptions& options, const std::string& value) { options.domain = std::stoul(value) & 0xffU; }},
    {"-t", [](ShapeOptions& options, const std::string& value) { options.topic = value; }},
    {"-c", [](ShapeOptions& options, const std::string& value) { options.color = value; }},
    {"-n", [](ShapeOptions& options, const std::string& value) { options.count = std::stoi(value); }},
    {"-w", [](ShapeOptions& options, const std::string& value) { options.period_ms = std::stoi(value); }},
    {"-z", [](ShapeOptions& options, const std::string& value) { options.size = std::stoi(value); }},
    {"-a", [](ShapeOptions& options, const std::string& value) { options.payload = std::stoi(value); }},
    {"-F", [](ShapeOptions& options, const std::string& value) { options.final_state = value.at(0); }},
    {"-p", [](ShapeOptions& options, const std::string& value) { options.partition = value; }},
    {"-k",
     [](ShapeOptions& options, const std::string& value) {
       const unsigned depth = static_cast<unsigned>(std::stoul(value));
       set_both(options, depth == 0 ? History::KeepAll() : History::KeepLast(depth));
     }},
    {"-f", [](ShapeOptions& options, const std::string& value) { set_both(options, Deadline(milliseconds(value))); }},
    {"-s",
     [](ShapeOptions& options, const std::string& value) {
       set_both(options, Ownership::Exclusive());
       options.writer_qos << OwnershipStrength(std::stoi(value));
     }},
    {"-D",
     [](ShapeOptions& options, const std::string& value) {
       set_both(options, durability_of(value));
       if (value == "t" || value == "p") options.topic_qos << durability_of(value);
     }},
    {"-i",
     [](ShapeOptions& options, const std::string& value) { options.reader_qos << TimeBasedFilter(milliseconds(value)); }},
    {"-l", [](ShapeOptions& options, const std::string& value) { options.writer_qos << Lifespan(milliseconds(value)); }}};

}  // namespace

ShapeOptions options_of(int argc, char** argv) {
  ShapeOptions options;
  set_both(options, Reliability::Reliable());
  for (int at = 1; at < argc; ++at) {
    if (const auto flag = flags.find(argv[at]); flag != flags.end()) {
      flag->second(options, {});
    } else if (const auto value = values.find(argv[at]); value != values.end() && at + 1 < argc) {
      value->second(options, argv[++at]);
    } else {
      throw std::invalid_argument(usage);
    }
  }
  return options;
}
