// A group of one that sends itself a message: the least program that needs headers, libraries and all that those need.
#include <spindrift/config.hpp>
#include <spindrift/group.hpp>

#include <iostream>
#include <string_view>

int main() {
  std::size_t bytes = 0;
  spindrift::Group group{spindrift::Config::load("one.cfg")};
  spindrift::Subgroup& greetings = group.subgroup("greetings");
  greetings.on_delivery([&](std::span<const spindrift::Delivery> batch) { bytes += batch[0].payload.size(); });
  greetings.send(std::string_view("hello"));
  group.leave();
  std::cout << bytes << " bytes delivered\n";
  return bytes == 5 ? 0 : 1;
}
