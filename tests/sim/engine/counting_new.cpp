// SPDX-License-Identifier: Apache-2.0
// Counts what operator new is asked for. A file of its own: a compiler that sees both an expression
// and these functions takes them for mismatched.
#include "tests/sim/engine/counting_new.hpp"

#include <cstdlib>
#include <new>

namespace {

std::size_t& asked_for() {
  static std::size_t bytes = 0;
  return bytes;
}

}  // namespace

namespace weft::sim {

std::size_t bytes_asked_for() {
  return asked_for();
}

}  // namespace weft::sim

void* operator new(std::size_t size) {
  asked_for() += size;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

// Sorting asks for its buffer this way; sanitizers have a form of their own of what is not replaced.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  asked_for() += size;
  return std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
