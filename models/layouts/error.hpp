// SPDX-License-Identifier: Apache-2.0
// A layout that cannot be: which operator cannot take which tensor as it lies, and why.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace weft::model {

class LayoutError : public std::runtime_error {
 public:
  /// `consumer` is the operator that cannot run, `tensor` what it cannot take; `why` is the whole
  /// message.
  LayoutError(std::string consumer, std::string tensor, const std::string& why)
      : std::runtime_error(why), consumer_(std::move(consumer)), tensor_(std::move(tensor)) {}
  /// Returns the name of the operator that cannot run.
  const std::string& consumer() const { return consumer_; }
  /// Returns the name of the tensor that it cannot take.
  const std::string& tensor() const { return tensor_; }

 private:
  std::string consumer_;
  std::string tensor_;
};

}  // namespace weft::model
