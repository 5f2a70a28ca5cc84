// A model of a hub as users write it: `org/name`, `org/name@revision`, and with a GGUF file picked
// by its name or its quantization, `org/name:Q4_K_M`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tonnage::hub {

struct ModelName {
  std::string repository = {};    // "org/name"
  std::string revision = "main";  // a branch, a tag, or a commit
  std::string file = {};          // empty: the one model that the repository holds

  // Also with `hf.co/` or `https://huggingface.co/` before it. Every part is made of letters,
  // digits and a few signs, so that it may stand in a URL and in a path as it is.
  static Result<ModelName> Parse(std::string_view text);

  // Its name in the model store.
  std::string StoreName() const;
};

// A path within a repository that may become a file of ours: relative, without `..`, hidden folders
// or characters that mean something to a shell, a terminal or a URL.
bool IsPlainPath(std::string_view path);

// "b.gguf" of "a/b.gguf".
std::string_view BaseName(std::string_view path);

}  // namespace tonnage::hub
