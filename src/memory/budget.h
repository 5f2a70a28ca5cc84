// The budget: how many bytes and buffers a device may hold. A reservation is taken under the lock
// before the allocation, so that two threads cannot overshoot. Safe from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

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

class Budget {
 public:
  // `source` says in messages where the limit comes from: "RAM", "--memory-limit", "cgroup
  // memory.max".
  Budget(Bytes limit_bytes, std::int64_t limit_buffers, std::string source);

  // Refused, with the numbers and the source, when the bytes or the buffer do not fit.
  Result<Reservation> Reserve(Bytes bytes);

  Bytes limit_bytes() const { return limit_bytes_; }
  const std::string& source() const { return source_; }
  Bytes used_bytes() const;
  std::int64_t used_buffers() const;

 private:
  friend class Reservation;
  void Release(Bytes bytes);

  const Bytes limit_bytes_;
  const std::int64_t limit_buffers_;
  const std::string source_;

  mutable std::mutex mutex_;  // guards what follows
  Bytes used_bytes_ = 0;
  std::int64_t used_buffers_ = 0;
};

}  // namespace tonnage
