// One model of a hub, opened: at which commit it is, which files make it, and their bytes, which
// come from the cache of Hugging Face's client where that has them. Borrows the hub. Safe from any
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/hub/cache.h"
#include "checkpoint/hub/hub.h"
#include "checkpoint/hub/listing.h"
#include "checkpoint/hub/name.h"

namespace tonnage::hub {

class Repository {
 public:
  // Asks the hub, or the cache alone when the hub is not to be asked or cannot be reached.
  static Result<Repository> Open(Hub& hub, const ModelName& name);

  Hub& hub() const { return hub_; }
  const Cache& cache() const { return cache_; }
  const ModelName& name() const { return name_; }
  const std::string& commit() const { return commit_; }
  const std::vector<File>& files() const { return files_; }
  Bytes bytes() const;
  // The hub was not asked: the cache is all there is.
  bool offline() const { return offline_; }

  // Bytes [first, end) of one of the files.
  Result<std::string> Read(HttpClient& client, const File& file, Bytes first, Bytes end) const;

 private:
  Repository(Hub& hub, ModelName name)
      : hub_(hub), cache_(hub.settings().cache), name_(std::move(name)) {}
  Result<Listing> List();

  Hub& hub_;
  Cache cache_;
  ModelName name_;
  std::string commit_;
  std::vector<File> files_;
  bool offline_ = false;
};

}  // namespace tonnage::hub
