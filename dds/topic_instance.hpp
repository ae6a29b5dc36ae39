// dds::topic::TopicInstance: a sample, and the handle of its instance.
#pragma once

#include <utility>

#include <spindrift/dds/core.hpp>

namespace dds::topic {

template <class T>
class TopicInstance {
 public:
  TopicInstance() = default;
  explicit TopicInstance(const core::InstanceHandle& handle) : handle_(handle) {}
  TopicInstance(const core::InstanceHandle& handle, T sample) : handle_(handle), sample_(std::move(sample)) {}

  [[nodiscard]] const core::InstanceHandle& handle() const { return handle_; }
  void handle(const core::InstanceHandle& handle) { handle_ = handle; }
  [[nodiscard]] const T& sample() const { return sample_; }
  [[nodiscard]] T& sample() { return sample_; }
  void sample(T sample) { sample_ = std::move(sample); }
  operator const core::InstanceHandle&() const { return handle_; }  // NOLINT: implicit as in OMG's API
  operator const T&() const { return sample_; }                      // NOLINT: likewise

 private:
  core::InstanceHandle handle_;
  T sample_{};
};

}  // namespace dds::topic
