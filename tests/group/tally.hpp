// A replicated object for tests: a sum that grows.
#pragma once

#include <spindrift/group/replicated.hpp>

namespace spindrift {

class Tally {
 public:
  int add(int value) { return sum_ += value; }
  [[nodiscard]] int sum() const { return sum_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum_);
  }
  using Methods = Replicates<&Tally::add, &Tally::sum>;

 private:
  int sum_ = 0;
};

}  // namespace spindrift
