// A member that lets clients into the subgroup "book", for tools/endure, until it is killed.
//
//   clients_member CONFIG
//
// Prints a line each: "view ID..." with the view's members by rank, and "serves" once clients are let in. Exit code 1: its
// membership has ended, or it was refused, with the reason on standard error.
#include <cstdio>
#include <exception>
#include <string>

#include <spindrift/group/replicated.hpp>

#include "clients_book.hpp"

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 2) {
    std::fputs("clients_member CONFIG\n", stderr);
    return 2;
  }
  try {
    GroupOptions options;
    options.on_view = [](const NewView& news) {
      std::string line = "view";
      for (const NodeId member : news.view.members) line += ' ' + std::to_string(member.value());
      std::puts(line.c_str());
      std::fflush(stdout);
    };
    Group group(value_or_throw(Config::read(arguments[1])), std::move(options));
    auto book = group.replicated<Book>("book");
    book.loaded();
    book.offer();
    std::puts("serves");
    std::fflush(stdout);
    group.wait();
    std::fputs("the membership has ended\n", stderr);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%s\n", thrown.what());
  }
  return 1;
}
