// An application for tests: it writes down what it hears.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/views/object_tracker.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

/// A state that is a string.
class TextReader final : public StateReader {
 public:
  TextReader(std::string text, const bool& ready, const std::optional<std::string>& failure)
      : text_(std::move(text)), ready_(ready), failure_(failure) {}
  [[nodiscard]] bool ready() const noexcept override { return ready_; }
  [[nodiscard]] std::optional<std::string> failure() const override { return failure_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return text_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(text_[offset + i]);
  }

 private:
  std::string text_;
  const bool& ready_;
  const std::optional<std::string>& failure_;
};

/// Notes for every subgroup a character per delivery, a view's number per boundary, and in words what happened otherwise.
class Application final : public Upcalls {
 public:
  void on_delivery(SubgroupId id, std::span<const Delivery> batch) override {
    for (const Delivery& delivery : batch) heard[id.value()] += static_cast<char>(delivery.payload.front());
    at_work = works;
  }
  void on_space(SubgroupId id) override { ++spaces[id.value()]; }
  [[nodiscard]] bool accepts(SubgroupId) const override { return ready && !at_work && saved; }
  [[nodiscard]] bool busy(SubgroupId) const override { return at_work; }
  [[nodiscard]] bool state_at_work(SubgroupId) const override { return !saved; }
  void on_view(const NewView&) override {}
  void on_boundary(SubgroupId id, const ObjectBoundary& boundary) override {
    heard[id.value()] += std::to_string(boundary.view.value());
    last = boundary;
  }
  void on_dropped(SubgroupId id, std::uint64_t messages) override { dropped[id.value()] += messages; }
  [[nodiscard]] std::unique_ptr<StateReader> save_state(SubgroupId) override {
    return state.empty() ? nullptr : std::make_unique<TextReader>(state, saved, failure);
  }
  [[nodiscard]] std::unique_ptr<StateWriter> load_state(SubgroupId) override { return std::make_unique<Writer>(*this); }
  void on_private(NodeId, std::span<const std::byte>) override {}
  void replay(SubgroupId, std::uint64_t to) override { replays.push_back(to); }

  std::map<std::uint32_t, std::string> heard;
  std::map<std::uint32_t, std::uint64_t> dropped;
  std::map<std::uint32_t, int> spaces;
  std::vector<std::uint64_t> replays;  ///< of all subgroups
  std::string state;   ///< to be saved
  std::string loaded;  ///< what was written, and "!" when it was finished
  ObjectBoundary last{};
  bool ready = true;
  bool saved = true;   ///< what is to be saved
  std::optional<std::string> failure;  ///< of a save that is over
  bool works = false;  ///< on a thread of its own
  bool at_work = false;

 private:
  class Writer final : public StateWriter {
   public:
    explicit Writer(Application& application) : application_(application) {}
    void write(std::span<const std::byte> piece) override {
      for (const std::byte byte : piece) application_.loaded += static_cast<char>(byte);
    }
    void finish() override { application_.loaded += "!"; }

   private:
    Application& application_;
  };
};

/// A delivery of each character, one by one.
template <class To>
void deliver(To to, const std::string& characters, NodeId sender = NodeId(4)) {
  for (const char& character : characters) {
    const Delivery delivery{
        sender, SenderRank(1), MessageIndex(2), SequenceNumber(3), std::as_bytes(std::span(&character, 1)), ViewId(5)};
    to(std::span(&delivery, 1));
  }
}

}  // namespace spindrift::views
