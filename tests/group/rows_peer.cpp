// A neighbor in a process of its own, whose memory a test looks into: sends back whatever it is sent in the subgroup "news".
//
//   rows_peer CONFIG
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <spindrift/group/group.hpp>

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 2) return EXIT_FAILURE;
  try {
    Group group(value_or_throw(Config::read(arguments[1])));
    Subgroup& news = group.subgroup("news");
    news.on_delivery([&](std::span<const Delivery> batch) {
      for (const Delivery& delivery : batch) {
        if (delivery.sender == group.self()) continue;
        const std::string text(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size());
        news.send("again " + text);
      }
    });
    group.wait();
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
