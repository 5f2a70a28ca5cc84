// The budget: how many bytes and buffers a device may hold. A reservation is taken under the lock
// before the allocation, so that two threads cannot overshoot. The limit may move while others use
// the device; what is held stays held. Safe from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

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
  // `source` says in messages where the limit comes from: "RAM", "--memory-limit", "cgroup
  // memory.max".
  Budget(Bytes limit_bytes, std::int64_t limit_buffers, std::string source);

  // Refused, with the numbers and the source, when the bytes or the buffer do not fit.
  Result<Reservation> Reserve(Bytes bytes);

  // A new limit on the bytes, as the device's owner sees it now. It may lie below what is used:
  // then nothing more is given until enough has come back.
  void SetLimit(Bytes limit_bytes, std::string source);

  Bytes limit_bytes() const { return status().limit_bytes; }
  std::int64_t limit_buffers() const { return limit_buffers_; }
  std::string source() const;
  Bytes used_bytes() const { return status().used_bytes; }
  std::int64_t used_buffers() const { return status().used_buffers; }
  BudgetStatus status() const;

 private:
  friend class Reservation;
  void Release(Bytes bytes);

  const std::int64_t limit_buffers_;

  mutable std::mutex mutex_;  // guards what follows
  std::string source_;
  BudgetStatus status_;
};

// A whole number above 0 that `text`, from the option or variable `name`, gives; anything else is
// InvalidArgument that begins with the name.
Result<std::int64_t> ParseCount(std::string_view name, std::string_view text);

// The device's limit on buffers, or the user's where that is lower; an empty text is none.
Result<std::int64_t> LowerBufferLimit(std::int64_t device, std::string_view name,
                                      std::string_view text);

}  // namespace tonnage
