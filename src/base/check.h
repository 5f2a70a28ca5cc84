// CHECK: a broken invariant ends the process with the place, the condition and the stack. For bugs
// only: expected failure is Result<T>, and bytes from outside (checkpoints, requests, templates)
// never reach a CHECK.
#pragma once

#include <sstream>

namespace tonnage::internal {

// Collects the message and aborts when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Turns the streamed expression into void, so that both arms of CHECK's `?:` have one type.
struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace tonnage::internal

#define CHECK(condition)                         \
  (condition) ? (void)0                          \
              : ::tonnage::internal::Voidify() & \
                    ::tonnage::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
#define CHECK_EQ(a, b) CHECK((a) == (b)) << (a) << " vs " << (b) << " "
#define CHECK_LE(a, b) CHECK((a) <= (b)) << (a) << " vs " << (b) << " "
#define CHECK_LT(a, b) CHECK((a) < (b)) << (a) << " vs " << (b) << " "
#define CHECK_GE(a, b) CHECK((a) >= (b)) << (a) << " vs " << (b) << " "
#define CHECK_GT(a, b) CHECK((a) > (b)) << (a) << " vs " << (b) << " "
