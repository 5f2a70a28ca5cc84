// Where the standard library's way of saying that the system has nothing left to give, an
// exception, becomes an Error. Everything between here and there holds its resources by owners, so
// that nothing is lost on the way.
#pragma once

#include <new>
#include <system_error>

#include "base/result.h"

namespace tonnage {

// work()'s Status or Result; Refused when memory, or Unavailable when a thread, was not to be had.
template <typename Work>
auto OrExhausted(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Refused("the system gave no more memory");
  } catch (const std::system_error& error) {
    return Unavailable("the system gave no more: {}", error.what());
  }
}

}  // namespace tonnage
