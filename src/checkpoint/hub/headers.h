// What a quote needs of a model that is still on a hub: a folder with everything but the weights,
// whose files have their headers, their full length, and a hole where the data would be. Whatever
// opens a model opens it; nothing there may be computed with.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "checkpoint/hub/repository.h"

namespace tonnage::hub {

// The folder, which is gone with the object. What has been mapped by then stays mapped.
class HeaderFolder {
 public:
  // Fetches headers by range, several files at a time, into a new folder below `parent`.
  static Result<HeaderFolder> Fetch(const Repository& repository,
                                    const std::filesystem::path& parent);
  HeaderFolder(HeaderFolder&& other) noexcept;
  ~HeaderFolder();

  // What to open: the folder, or the (first) GGUF file in it.
  const std::filesystem::path& model() const { return model_; }

 private:
  explicit HeaderFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
  std::filesystem::path model_;
};

}  // namespace tonnage::hub
