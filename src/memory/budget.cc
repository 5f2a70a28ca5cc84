#include "memory/budget.h"

#include <utility>

namespace tonnage {

Reservation::Reservation(Reservation&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Reservation::~Reservation() {
  if (budget_ != nullptr) budget_->Release(bytes_);
}

Budget::Budget(Bytes limit_bytes, std::int64_t limit_buffers, std::string source)
    : limit_bytes_(limit_bytes), limit_buffers_(limit_buffers), source_(std::move(source)) {}

Result<Reservation> Budget::Reserve(Bytes bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_bytes_ - used_bytes_) {
    return Refused("{} more needed, but only {} of the {} that {} allows are free",
                   FormatBytes(bytes), FormatBytes(limit_bytes_ - used_bytes_),
                   FormatBytes(limit_bytes_), source_);
  }
  if (used_buffers_ >= limit_buffers_) {
    return Refused("one more buffer needed, but all {} that the device allows are in use",
                   limit_buffers_);
  }
  used_bytes_ += bytes;
  ++used_buffers_;
  return Reservation(this, bytes);
}

void Budget::Release(Bytes bytes) {
  std::lock_guard lock(mutex_);
  used_bytes_ -= bytes;
  --used_buffers_;
}

Bytes Budget::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::int64_t Budget::used_buffers() const {
  std::lock_guard lock(mutex_);
  return used_buffers_;
}

}  // namespace tonnage
