// Brings a model of a hub into the store. Whatever moment it is interrupted at, the next pull goes
// on from there, and nothing appears in the store before all of it is there and checked.
#pragma once

#include "base/result.h"
#include "checkpoint/hub/download.h"
#include "checkpoint/hub/repository.h"
#include "checkpoint/store.h"

namespace tonnage::hub {

// Files of the cache are linked where that is possible (no second copy; and Hugging Face's client
// never writes to a file that is there) and copied where it is not. Busy while another process
// pulls the same model; Refused when the disk has no room.
Status Pull(const Repository& repository, ModelStore& store, const DownloadOptions& options);

}  // namespace tonnage::hub
