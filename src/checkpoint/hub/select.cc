#include "checkpoint/hub/select.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "checkpoint/quoted.h"
#include "checkpoint/shards.h"

namespace tonnage::hub {
namespace {

constexpr std::string_view kGguf = ".gguf";

// What Tonnage reads beside the weights of a folder.
constexpr std::string_view kCompanions[] = {
    "config.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer.jsonl",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "chat_template.jinja",
    "chat_template.json",
};

bool IsShard(std::string_view path) {
  return path.starts_with("model") && path.ends_with(".safetensors") &&
         path.find('/') == std::string_view::npos;
}

bool IsCompanion(std::string_view path) {
  if (std::find(std::begin(kCompanions), std::end(kCompanions), path) != std::end(kCompanions))
    return true;
  const bool top = path.find('/') == std::string_view::npos;
  return (top && path.ends_with(".tiktoken")) || path == "tiktoken.model" ||
         (path.starts_with("additional_chat_templates/") && path.ends_with(".jinja"));
}

bool SameLetters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// One GGUF model: a file, or the parts of a split one.
struct Choice {
  std::string stem;  // the path without `-00001-of-00003` and `.gguf`
  int parts = 1;     // as the names tell
  std::vector<File> files;

  Bytes bytes() const {
    Bytes sum = 0;
    for (const File& file : files) sum += file.bytes;
    return sum;
  }
  // The quantization that the name ends with: "Q4_K_M" of "Qwen3-4B-Q4_K_M".
  std::string_view Tag() const {
    const std::string_view name = BaseName(stem);
    return name.substr(name.find_last_of("-.") + 1);
  }
  bool HasTag(std::string_view tag) const {
    const std::string_view name = BaseName(stem);
    if (name.size() <= tag.size()) return SameLetters(name, tag);
    const size_t begin = name.size() - tag.size();
    return SameLetters(name.substr(begin), tag) &&
           std::string_view("-._").find(name[begin - 1]) != std::string_view::npos;
  }
  bool HasFile(std::string_view wanted) const {
    return std::any_of(files.begin(), files.end(), [&](const File& file) {
      return file.path == wanted || BaseName(file.path) == wanted;
    });
  }
};

// Projectors of images go with a model and are none.
std::vector<Choice> GgufChoices(const Listing& listing) {
  std::map<std::pair<std::string, int>, Choice> choices;
  for (const File& file : listing.files) {
    if (!file.path.ends_with(kGguf) || BaseName(file.path).starts_with("mmproj")) continue;
    std::string_view stem = file.path;
    stem.remove_suffix(kGguf.size());
    int parts = 1;
    const auto part = ParseNumberedName(file.path, kGguf);
    if (part && part->prefix.size() > 1 && part->prefix.ends_with('-')) {
      stem = stem.substr(0, part->prefix.size() - 1);
      parts = part->count;
    }
    Choice& choice = choices[{std::string(stem), parts}];
    choice.stem = stem;
    choice.parts = parts;
    choice.files.push_back(file);
  }
  std::vector<Choice> list;
  for (auto& [key, choice] : choices) list.push_back(std::move(choice));
  return list;
}

std::string ListChoices(const std::vector<Choice>& choices, const ModelName& name) {
  constexpr size_t kMostShown = 60;
  std::string text;
  for (size_t i = 0; i < std::min(choices.size(), kMostShown); ++i) {
    const Choice& choice = choices[i];
    const bool only = std::count_if(choices.begin(), choices.end(), [&](const Choice& other) {
                        return other.HasTag(choice.Tag());
                      }) == 1;
    const std::string_view pick = only ? choice.Tag() : BaseName(choice.files.front().path);
    text += fmt::format("\n  {:>9}  {}", FormatBytes(choice.bytes()),
                        Quoted(fmt::format("{}:{}", name.repository, pick)));
  }
  if (choices.size() > kMostShown)
    text += fmt::format("\n  and {} more", choices.size() - kMostShown);
  return text;
}

Result<std::vector<File>> PickGguf(std::vector<Choice> choices, const ModelName& name) {
  std::vector<Choice> picked;
  const auto pick = [&](auto&& matches) {
    if (picked.empty())
      std::copy_if(choices.begin(), choices.end(), std::back_inserter(picked), matches);
  };
  pick([&](const Choice& choice) { return name.file.empty() || choice.HasFile(name.file); });
  pick([&](const Choice& choice) { return choice.HasTag(name.file); });
  if (picked.empty()) {
    return InvalidArgument("{} has no GGUF file {}; these are there:{}", name.repository,
                           Quoted(name.file), ListChoices(choices, name));
  }
  if (picked.size() > 1) {
    return InvalidArgument("{} holds {} GGUF files{}; name one:{}", name.repository, picked.size(),
                           name.file.empty() ? "" : " of that name", ListChoices(picked, name));
  }
  Choice& choice = picked.front();
  if (static_cast<int>(choice.files.size()) != choice.parts) {
    return Unreadable("{} has {} of the {} parts of {}", name.repository, choice.files.size(),
                      choice.parts, Quoted(choice.stem));
  }
  return std::move(choice.files);
}

std::vector<File> SafetensorsFolder(const Listing& listing) {
  std::vector<File> files;
  for (const File& file : listing.files) {
    if (IsShard(file.path) || IsCompanion(file.path)) files.push_back(file);
  }
  return files;
}

bool Has(const std::vector<File>& files, bool (*is)(std::string_view)) {
  return std::any_of(files.begin(), files.end(), [&](const File& file) { return is(file.path); });
}

Result<std::vector<File>> Select(const Listing& listing, const ModelName& name) {
  std::vector<Choice> choices = GgufChoices(listing);
  std::vector<File> folder = SafetensorsFolder(listing);
  const bool safetensors = Has(folder, IsShard) &&
                           Has(folder, [](std::string_view path) { return path == "config.json"; });
  if (name.file.empty() && safetensors) return folder;
  if (!choices.empty()) return PickGguf(std::move(choices), name);
  return Unsupported("{} holds neither GGUF files nor a safetensors checkpoint{}", name.repository,
                     name.file.empty() || !safetensors ? "" : " of that name");
}

}  // namespace

Result<std::vector<File>> SelectFiles(const Listing& listing, const ModelName& name) {
  ASSIGN_OR_RETURN(std::vector<File> files, Select(listing, name));
  for (const File& file : files) {
    if (!IsPlainPath(file.path)) {
      return Unsupported("{}: the file name {} is not one that we would write to disk",
                         name.repository, Quoted(file.path));
    }
  }
  return files;
}

std::string LocalPath(const File& file) {
  return file.path.ends_with(kGguf) ? std::string(BaseName(file.path)) : file.path;
}

}  // namespace tonnage::hub
