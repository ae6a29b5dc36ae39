// A configuration store of three processes that forgets nothing: a line is a command, and a change is reported when it is on
// the disks of all processes that run. They may all be killed at any moment; what was reported is there when two are back.
//
//   config_store CONFIG ID             takes commands from standard input, and leaves at its end
//   config_store CONFIG ID --serve     takes none; SIGTERM and SIGINT have it leave
#include <spindrift/config.hpp>
#include <spindrift/group.hpp>
#include <spindrift/replicated.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "store.hpp"
#include "watches.hpp"

namespace config_store {

using Replica = spindrift::Replicated<Store>;

/// One line, whole whenever another thread writes one.
void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string words(const std::string& key, const std::optional<Versioned>& now) {
  return now ? key + " = " + now->value + " (version " + std::to_string(now->version) + ")" : key + ": none";
}

void Watches::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !changes_.empty(); })) {
    const auto [key, now] = std::move(changes_.front());
    changes_.pop_front();
    lock.unlock();
    say("changed " + words(key, now));
    lock.lock();
  }
}

std::string put(Replica& store, const std::string& key, const std::string& value) {
  const auto call = store.update<&Store::put>(key, value);
  call.durable();
  return "put " + key + ": version " + std::to_string(call.get()) + ", durable";
}

// Not done is an answer as well, and it has to last: the value that stood against it is durable with the call.
std::string replace(Replica& store, const std::string& key, std::uint64_t expected, const std::string& value) {
  const auto call = store.update<&Store::replace>(key, expected, value);
  call.durable();
  const auto version = call.get();
  if (!version) return "replace " + key + ": not done, its version is another";
  return "replace " + key + ": version " + std::to_string(*version) + ", durable";
}

std::string erase(Replica& store, const std::string& key) {
  const auto call = store.update<&Store::erase>(key);
  call.durable();
  const auto version = call.get();
  return version ? "delete " + key + ": version " + std::to_string(*version) + ", durable" : "delete " + key + ": none";
}

// A version that is not kept any more is an answer as well.
std::string get_at(const Replica& store, const std::string& key, std::uint64_t version) {
  const std::string asked = "get " + key + " " + std::to_string(version) + ": ";
  try {
    return asked + words(key, store.query<&Store::find_at>(key, version));
  } catch (const spindrift::NoVersion& why) {
    return asked + (why.why() == spindrift::VersionState::trimmed ? "not kept any more" : "not yet");
  }
}

std::string history(const Replica& store, const std::string& key) {
  std::string lines = "history " + key + ":";
  for (const Change& change : store.query<&Store::history>(key)) {
    const std::time_t time = std::chrono::floor<std::chrono::seconds>(change.time).time_since_epoch().count();
    std::tm parts{};
    char text[32];
    std::strftime(text, sizeof text, "%FT%TZ", gmtime_r(&time, &parts));
    lines += "\n  version " + std::to_string(change.version) + ", " + text + ": " + change.value.value_or("deleted");
  }
  return lines;
}

std::string list(const Replica& store) {
  std::string line = "keys:";
  for (const std::string& key : store.query<&Store::keys>()) line += " " + key;
  return line;
}

/// Does what the line says; its answer.
std::string answer(Replica& store, Watches& watches, const std::string& line) {
  std::istringstream in(line);
  std::string command;
  std::string key;
  std::string value;
  std::uint64_t expected = 0;
  in >> command;
  if (command == "list") return list(store);
  if (in >> key) {
    if (command == "get" && (in >> std::ws).eof()) return "get " + words(key, store.query<&Store::find>(key));
    if (command == "get" && in >> expected) return get_at(store, key, expected);
    if (command == "history") return history(store, key);
    if (command == "delete") return erase(store, key);
    if (command == "watch") {
      watches.add(key);
      return "watch " + words(key, store.query<&Store::find>(key));
    }
    if (command == "put" && std::getline(in >> std::ws, value)) return put(store, key, value);
    if (command == "replace" && in >> expected && std::getline(in >> std::ws, value)) {
      return replace(store, key, expected, value);
    }
  }
  return "no command: " + line +
         "; say put KEY VALUE, replace KEY VERSION VALUE, get KEY [VERSION], history KEY, delete KEY, list or watch KEY";
}

void run(const char* config_path, const char* id, bool serves) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  if (serves) pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before there are other threads

  const auto config =
      spindrift::value_or_throw(spindrift::Config::read(config_path, {{"DERECHO/local_id", id, "argument"}}));
  Watches watches;  // outlives the group, whose object uses it
  spindrift::GroupOptions options;
  options.on_last_view_awaited = [](const std::string& words) {
    if (!words.empty()) std::fprintf(stderr, "waiting: %s\n", words.c_str());
  };
  spindrift::Group group{config, std::move(options)};
  Replica store = group.replicated<Store>(
      "store", [&](const std::string& key, const std::optional<Versioned>& now) { watches.on_change(key, now); });
  store.loaded();
  say("node " + std::string(id) + " is there: " + std::to_string(store.query<&Store::keys>().size()) + " keys, version " +
      std::to_string(store.query<&Store::version>()));

  if (serves) {
    group.on_failure([](const spindrift::Error&) { kill(getpid(), SIGTERM); });
    int signal = 0;
    sigwait(&ends, &signal);
  }
  for (std::string line; !serves && std::getline(std::cin, line);) {
    if (!line.empty()) say(answer(store, watches, line));
  }
  group.leave();
}

}  // namespace config_store

int main(int argument_count, char** arguments) {
  const bool serves = argument_count == 4 && std::string_view(arguments[3]) == "--serve";
  if (argument_count != 3 && !serves) {
    std::fprintf(stderr, "usage: config_store CONFIG ID [--serve]\n");
    return 2;
  }
  try {
    config_store::run(arguments[1], arguments[2], serves);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "config_store: %s\n", failure.what());
    return 1;
  }
}
