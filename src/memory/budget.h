// The budget: how many bytes and buffers a device may hold. A reservation is taken under the lock
// before the allocation, so that two threads cannot overshoot. The limit may move while others use
// the device; what is held stays held. Safe from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tonnage {

class Budget;

// Bytes and one buffer, held until destroyed. The budget outlives it.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();
  Bytes bytes() const { return bytes_; }

 private:
  friend class Budget;
  Reservation(Budget* budget, Bytes bytes) : budget_(budget), bytes_(bytes) {}
  Budget* budget_ = nullptr;
  Bytes bytes_ = 0;
};

// What is held, what may be, and the most that was.
struct BudgetStatus {
  Bytes limit_bytes = 0;
  Bytes used_bytes = 0;
  Bytes peak_bytes = 0;
  std::int64_t limit_buffers = 0;
  std::int64_t used_buffers = 0;
  std::int64_t peak_buffers = 0;
};

class Budget {
 public:
  // The sources say in messages where a limit comes from: "RAM", "--memory-limit", "cgroup
  // memory.max".
  Budget(Bytes limit_bytes, std::int64_t limit_buffers, std::string source,
         std::string buffers_source = "the device");

  // Refused, with the numbers and the source, when the bytes or the buffer do not fit.
  Result<Reservation> Reserve(Bytes bytes);

  // A new limit on the bytes, as the device's owner sees it now. It may lie below what is used:
  // then nothing more is given until enough has come back.
  void SetLimit(Bytes limit_bytes, std::string source);

  Bytes limit_bytes() const { return status().limit_bytes; }
  std::int64_t limit_buffers() const { return limit_buffers_; }
  std::string source() const;
  const std::string& buffers_source() const { return buffers_source_; }
  Bytes used_bytes() const { return status().used_bytes; }
  std::int64_t used_buffers() const { return status().used_buffers; }
  BudgetStatus status() const;

 private:
  friend class Reservation;
  void Release(Bytes bytes);

  const std::int64_t limit_buffers_;
  const std::string buffers_source_;

  mutable std::mutex mutex_;  // guards what follows
  std::string source_;
  BudgetStatus status_;
};

// A limit that the user gave: the option or variable's name and its text; an empty text is no
// limit.
struct UserLimit {
  std::string_view name;
  std::string_view text;
};

// How many buffers a device may hold, and who says so.
struct BufferLimit {
  std::int64_t buffers = 0;
  std::string source;
};

// A whole number above 0 that `text`, from the option or variable `name`, gives; anything else is
// InvalidArgument that begins with the name.
Result<std::int64_t> ParseCount(std::string_view name, std::string_view text);

// The device's limit on buffers, or the lowest of the user's where one is lower. Junk is an error
// that names the option or variable.
Result<BufferLimit> LowerBufferLimit(BufferLimit device, const std::vector<UserLimit>& user);

}  // namespace tonnage
