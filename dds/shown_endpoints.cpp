// When the file is written.
#include <spindrift/dds/shown_endpoints.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::topics {
namespace {

// Endpoints come in many messages when a program starts. The first is written at once: who reads a topic waits for it.
constexpr auto between_files = std::chrono::milliseconds(10);
constexpr auto between_attempts = std::chrono::seconds(1);

}  // namespace

void ShownEndpoints::start(GuardedDirectory directory, NodeId self) {
  directory_.emplace(std::move(directory));
  {
    const std::lock_guard lock(monitor_.mutex);
    const auto process = static_cast<std::uint64_t>(::getpid());
    point_.by = {self, process, group::process_start_ticks(process)};
  }
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

void ShownEndpoints::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  remove_endpoints(*directory_, point_.by.node);
}

void ShownEndpoints::on_message(const Delivery& delivery) {
  point_.view = delivery.view;
  point_.messages = delivery.sequence.value() + 1;
}

void ShownEndpoints::on_view(const View& view) {
  point_.view = view.id;
  point_.messages = 0;
  point_.carriers.clear();
  for (const SubgroupView& each : view.subgroups) {
    for (const std::string& topic : each.topics) point_.carriers.emplace(topic, each.name);
  }
}

void ShownEndpoints::look() {
  if (table_.changes() == changes_) return;
  changes_ = table_.changes();
  const std::lock_guard lock(mutex_);
  due_ = true;
  changed_.notify_all();
}

void ShownEndpoints::on_failure() {
  over_ = true;
  const std::lock_guard lock(mutex_);
  due_ = true;
  changed_.notify_all();
}

std::optional<std::vector<std::byte>> ShownEndpoints::picture() const {
  const std::lock_guard lock(monitor_.mutex);
  if (over_) return std::nullopt;
  ShownDomain shown = point_;
  shown.endpoints = table_.all();
  return bytes_of(shown);
}

bool ShownEndpoints::show() {
  Result<void> written;
  try {
    const auto bytes = picture();
    if (bytes) written = write_endpoints(*directory_, point_.by.node, *bytes);
    if (!bytes || !written) remove_endpoints(*directory_, point_.by.node);
  } catch (const std::bad_alloc&) {
    written = out_of_memory();
  }
  if (!written && !failed_) {
    log::warn(log::Room::dds, "the file of endpoints cannot be written", {{"reason", written.error().to_string()}});
  }
  failed_ = !written;
  return written.ok();
}

void ShownEndpoints::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || due_; });
    if (stops_) return;
    due_ = false;
    lock.unlock();
    const auto begun = std::chrono::steady_clock::now();
    const bool done = show();
    const auto taken = std::chrono::steady_clock::now() - begun;
    lock.lock();
    if (!done) due_ = true;
    // Large tables that change all the time take a tenth of a core at most.
    const auto pause = done ? std::max<std::chrono::nanoseconds>(between_files, 9 * taken) : between_attempts;
    changed_.wait_for(lock, pause, [&] { return stops_; });
  }
}

}  // namespace spindrift::topics
