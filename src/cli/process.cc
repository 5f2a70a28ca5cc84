#include "cli/process.h"

#include <malloc.h>
#include <sys/prctl.h>

namespace tonnage::cli {

void PrepareProcess() {
  // One heap: otherwise each thread that allocates reserves 64 MiB of address space and keeps what
  // it frees to itself.
  mallopt(M_ARENA_MAX, 1);
  // Blocks from this size on are mapped, and so given back when freed. Setting it keeps it: left
  // alone it rises with the largest block that was freed, up to 32 MiB.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  // Huge pages where buffers ask for them, even where the system gives them to everybody: a heap
  // and stacks of 2 MiB pages would hold memory that nobody touched. Kernels before 6.18 refuse.
  constexpr unsigned long kExceptAdvised = 2;  // PR_THP_DISABLE_EXCEPT_ADVISED
  prctl(PR_SET_THP_DISABLE, 1, kExceptAdvised, 0, 0);
}

}  // namespace tonnage::cli
