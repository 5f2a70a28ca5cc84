#include "memory/budget.h"

#include <algorithm>
#include <charconv>
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

Budget::Budget(Bytes limit_bytes, std::int64_t limit_buffers, std::string source,
               std::string buffers_source)
    : limit_buffers_(limit_buffers),
      buffers_source_(std::move(buffers_source)),
      source_(std::move(source)) {
  status_.limit_bytes = limit_bytes;
  status_.limit_buffers = limit_buffers;
}

Result<Reservation> Budget::Reserve(Bytes bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > status_.limit_bytes - status_.used_bytes) {
    const Bytes free = std::max<Bytes>(0, status_.limit_bytes - status_.used_bytes);
    return Refused("{} more needed, but only {} of the {} that {} allows are free",
                   FormatBytes(bytes), FormatBytes(free), FormatBytes(status_.limit_bytes),
                   source_);
  }
  if (status_.used_buffers >= limit_buffers_) {
    return Refused("one more buffer needed, but all {} that {} allows are in use", limit_buffers_,
                   buffers_source_);
  }
  status_.used_bytes += bytes;
  ++status_.used_buffers;
  status_.peak_bytes = std::max(status_.peak_bytes, status_.used_bytes);
  status_.peak_buffers = std::max(status_.peak_buffers, status_.used_buffers);
  return Reservation(this, bytes);
}

void Budget::SetLimit(Bytes limit_bytes, std::string source) {
  std::lock_guard lock(mutex_);
  status_.limit_bytes = limit_bytes;
  source_ = std::move(source);
}

void Budget::Release(Bytes bytes) {
  std::lock_guard lock(mutex_);
  status_.used_bytes -= bytes;
  --status_.used_buffers;
}

std::string Budget::source() const {
  std::lock_guard lock(mutex_);
  return source_;
}

BudgetStatus Budget::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

Result<std::int64_t> ParseCount(std::string_view name, std::string_view text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || parsed != end || count < 1) {
    return InvalidArgument("{}: `{}` is not a count: write a whole number above 0", name, text);
  }
  return count;
}

Result<BufferLimit> LowerBufferLimit(BufferLimit device, const std::vector<UserLimit>& user) {
  BufferLimit lowest = std::move(device);
  for (const UserLimit& limit : user) {
    if (limit.text.empty()) continue;
    ASSIGN_OR_RETURN(const std::int64_t buffers, ParseCount(limit.name, limit.text));
    if (buffers < lowest.buffers) lowest = {buffers, std::string(limit.name)};
  }
  return lowest;
}

}  // namespace tonnage
