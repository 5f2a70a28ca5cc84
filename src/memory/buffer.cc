#include "memory/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace tonnage {

Buffer Allocator::MakeBuffer(Allocator* allocator, Ledger* ledger, Reservation reservation,
                             Owner owner, std::uint8_t* data, Bytes bytes) {
  Buffer buffer;
  buffer.allocator_ = allocator;
  buffer.ledger_ = ledger;
  buffer.reservation_ = std::move(reservation);
  buffer.owner_ = owner;
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  if (ledger != nullptr) ledger->Add(owner, buffer.reservation_.bytes());
  return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(ledger_, other.ledger_);
  std::swap(reservation_, other.reservation_);
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (allocator_ == nullptr) return;
  allocator_->Free(data_, bytes_);
  if (ledger_ != nullptr) ledger_->Remove(owner_, reservation_.bytes());
}

void Buffer::SetOwner(Owner owner) {
  if (owner == owner_) return;
  if (ledger_ != nullptr) ledger_->Move(owner_, owner, reservation_.bytes());
  owner_ = owner;
}

Result<Buffer> HostAllocator::Allocate(Owner owner, Bytes bytes) {
  constexpr Bytes kHugePage = 2 * kMiB;
  auto reservation = budget_->Reserve(Footprint(bytes));
  if (!reservation.ok()) return reservation.error().In(OwnerName(owner));
  std::uint8_t* data = nullptr;
  if (bytes > 0) {
    void* map = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
      return Refused("{}: the system gave no {} of memory: {}", OwnerName(owner),
                     FormatBytes(bytes), std::strerror(errno));
    }
    if (bytes >= kHugePage) madvise(map, static_cast<size_t>(bytes), MADV_HUGEPAGE);
    data = static_cast<std::uint8_t*>(map);
  }
  return MakeBuffer(this, ledger_, std::move(reservation).value(), owner, data, bytes);
}

Bytes HostAllocator::Footprint(Bytes bytes) const { return RoundUp(bytes, sysconf(_SC_PAGESIZE)); }

Result<Buffer> HostAllocator::Account(Owner owner, Bytes bytes) {
  auto reservation = budget_->Reserve(bytes);
  if (!reservation.ok()) return reservation.error().In(OwnerName(owner));
  return MakeBuffer(this, ledger_, std::move(reservation).value(), owner, nullptr, bytes);
}

void HostAllocator::Free(std::uint8_t* data, Bytes bytes) {
  if (data != nullptr) munmap(data, static_cast<size_t>(bytes));
}

}  // namespace tonnage
