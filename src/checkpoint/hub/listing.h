// What a repository of a hub holds at one commit, with what every file's bytes must be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/digest.h"

namespace tonnage::hub {

struct File {
  std::string path = {};  // within the repository; as the hub has it, so not to be trusted
  Bytes bytes = 0;
  Digest digest = {};
};

struct Listing {
  std::string commit;  // 40 hexadecimal digits
  std::vector<File> files;
};

// Reads the answer of GET /api/models/<repository>/revision/<revision>?blobs=true.
Result<Listing> ParseListing(std::string_view json);

// Lower-case hexadecimal digits, `count` of them.
bool IsHex(std::string_view text, size_t count);

}  // namespace tonnage::hub
