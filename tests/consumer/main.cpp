// A group of one: sends ten messages to itself and gets them back in order, as an observer does, with nothing but what is
// installed.
#include <spindrift/config.hpp>
#include <spindrift/group.hpp>
#include <spindrift/observer.hpp>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <string>

#include <unistd.h>

namespace {

constexpr const char* configuration = R"(
[SPINDRIFT]
group_name = consumer
members = 0

[DERECHO]
local_id = 0

[LAYOUT]
json_layout = '[{"name": "greetings"}]'
)";

int deliver_ten(const std::string& directory) {
  auto config =
      spindrift::Config::parse(configuration, "consumer.cfg", {{.name = "SPINDRIFT/runtime_directory", .value = directory}});
  if (!config) {
    std::cerr << config.error().to_string() << '\n';
    return 1;
  }
  std::atomic<int> delivered{0};
  bool in_order = true;
  {
    spindrift::Group group(*config);
    spindrift::Subgroup& greetings = group.subgroup("greetings");
    greetings.on_delivery([&](std::span<const spindrift::Delivery> batch) {
      for (const spindrift::Delivery& delivery : batch) {
        in_order =
            in_order && delivery.payload.size() == 1 && delivery.payload[0] == static_cast<std::byte>(delivered.load());
        ++delivered;
      }
    });
    int observed = 0;
    spindrift::Observer observer(*config, "greetings", {[&](const spindrift::Delivery&) { ++observed; }, {}});
    while (!observer.source()) {
      if (observer.poll() == 0 && !observer.source()) static_cast<void>(observer.wait());
    }
    for (int i = 0; i < 10; ++i) greetings.send(1, [&](std::span<std::byte> to) { to[0] = static_cast<std::byte>(i); });
    while (observed < 10) {
      if (observer.poll() == 0) static_cast<void>(observer.wait());
    }
    group.leave();
  }
  std::cout << delivered << " delivered, " << (in_order ? "in order" : "out of order") << '\n';
  return delivered == 10 && in_order ? 0 : 1;
}

}  // namespace

int main() {
  const auto directory = std::filesystem::temp_directory_path() / ("spindrift-consumer-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  int code = 1;
  try {
    code = deliver_ten(directory.string());
  } catch (const spindrift::Exception& failure) {
    std::cerr << failure.what() << '\n';
  }
  std::filesystem::remove_all(directory);
  return code;
}
