// A device allocation with its owner's entry in the ledger and its reservation from the budget; all
// three end together. Movable, not copyable. The allocator, ledger and budget outlive it.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "memory/budget.h"
#include "memory/ledger.h"

namespace tonnage {

class Buffer;

// Where buffers come from: one a device.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // At least 64-byte aligned; contents undefined. A refusal names the owner and the numbers. bytes
  // may be 0.
  virtual Result<Buffer> Allocate(Owner owner, Bytes bytes) = 0;
  // What a buffer of so many bytes takes of the device, which is what budget and ledger count.
  virtual Bytes Footprint(Bytes bytes) const = 0;
  // An entry in ledger and budget for memory that comes from elsewhere, such as the heap.
  virtual Result<Buffer> Account(Owner owner, Bytes bytes) = 0;

 protected:
  friend class Buffer;
  virtual void Free(std::uint8_t* data, Bytes bytes) = 0;
  // Without a ledger, the bytes are in it already by another buffer's entry.
  static Buffer MakeBuffer(Allocator* allocator, Ledger* ledger, Reservation reservation,
                           Owner owner, std::uint8_t* data, Bytes bytes);
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::uint8_t* data() const { return data_; }
  Bytes bytes() const { return bytes_; }  // as asked for
  // Moves its entry to another line of the ledger.
  void SetOwner(Owner owner);

 private:
  friend class Allocator;
  Allocator* allocator_ = nullptr;
  Ledger* ledger_ = nullptr;
  Reservation reservation_;
  Owner owner_ = Owner::kRuntime;
  std::uint8_t* data_ = nullptr;
  Bytes bytes_ = 0;
};

// Host memory by anonymous mmap, in whole pages, so that a freed buffer leaves the process at once;
// large ones ask for huge pages, which never reach beyond the buffer. Safe from any thread.
class HostAllocator final : public Allocator {
 public:
  HostAllocator(Ledger* ledger, Budget* budget) : ledger_(ledger), budget_(budget) {}
  Result<Buffer> Allocate(Owner owner, Bytes bytes) override;
  Bytes Footprint(Bytes bytes) const override;
  Result<Buffer> Account(Owner owner, Bytes bytes) override;

 protected:
  void Free(std::uint8_t* data, Bytes bytes) override;

 private:
  Ledger* ledger_;
  Budget* budget_;
};

}  // namespace tonnage
