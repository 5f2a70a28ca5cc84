#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "checkpoint/quoted.h"
#include "checkpoint/safetensors_writer.h"
#include "convert/gguf_tokenizer.h"
#include "convert/mlx_config.h"
#include "convert/quantize.h"
#include "convert/target.h"
#include "convert/weight_stream.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

std::string_view SafetensorsName(DType dtype) {
  return dtype == DType::kF32 ? "F32" : dtype == DType::kF16 ? "F16" : "BF16";
}

Format PlainFormat(DType dtype) {
  return Format::Of(dtype == DType::kF32   ? FormatKind::kF32
                    : dtype == DType::kF16 ? FormatKind::kF16
                                           : FormatKind::kBF16);
}

Format FormatOf(const QuantRule& rule, DType scale_dtype) {
  const QuantMode* const mode = FindQuantMode(rule.mode);
  CHECK(mode != nullptr) << rule.mode;
  if (mode->kind != FormatKind::kAffine) return Format::Of(mode->kind);
  return Format::Affine(static_cast<int>(rule.bits), static_cast<int>(rule.group), scale_dtype);
}

// What the numbers of a weight are kept in: of a quantized one, its scales; nothing where the
// format does not say.
std::optional<DType> DTypeOf(const Format& format) {
  switch (format.kind) {
    case FormatKind::kF32:
      return DType::kF32;
    case FormatKind::kF16:
      return DType::kF16;
    case FormatKind::kBF16:
      return DType::kBF16;
    case FormatKind::kAffine:
      return format.scale_dtype;
    default:
      return std::nullopt;
  }
}

// One weight on its way into the folder, and its tensors there.
struct Output {
  Conversion conversion;
  std::string module;                      // a weight's name without `.weight`
  std::optional<QuantRule> rule;           // if it is quantized
  std::vector<SafetensorsTensor> tensors;  // data, then scales and biases where there are any

  Bytes bytes() const {
    Bytes sum = 0;
    for (const SafetensorsTensor& tensor : tensors) sum += SafetensorsBytes(tensor);
    return sum;
  }
};

// MLX's name of a weight: experts are a module of their own.
std::string MlxName(std::string name) {
  constexpr std::string_view kExperts = ".mlp.experts.";
  const size_t at = name.find(kExperts);
  return at == std::string::npos ? name : name.replace(at, kExperts.size(), ".mlp.switch_mlp.");
}

class FolderPlan {
 public:
  FolderPlan(const OpenedModel& model, const MlxOptions& options)
      : model_(model), options_(options), dtype_(options.dtype ? *options.dtype : ModelDType()) {
    for (size_t id = 0; id < model.sources.size(); ++id) {
      outputs_.push_back(MakeOutput(model.model.graph.weights[id].name, model.sources[id]));
    }
  }

  const std::vector<Output>& outputs() const { return outputs_; }
  Bytes bytes() const {
    Bytes sum = 0;
    for (const Output& output : outputs_) sum += output.bytes();
    return sum;
  }
  double bits_per_weight() const {
    double elements = 0;
    for (const Output& output : outputs_)
      elements += static_cast<double>(output.conversion.source->shape.elements());
    return 8 * static_cast<double>(bytes()) / elements;
  }

  // The config's `quantization`; null if nothing is quantized.
  Json Quantization() const {
    if (!options_.rule) return {};
    Json json = RuleJson(*options_.rule);
    for (const Output& output : outputs_) {
      if (output.rule && *output.rule != *options_.rule)
        json[output.module] = RuleJson(*output.rule);
    }
    return json;
  }

 private:
  static Json RuleJson(const QuantRule& rule) {
    return {{"group_size", rule.group}, {"bits", rule.bits}, {"mode", rule.mode}};
  }

  // What the model computes in, where a tensor does not say it. GGUF keeps norms in F32 whatever
  // the model is.
  std::optional<DType> ModelDType() const {
    if (model_.checkpoint.gguf() == nullptr) return ConfigDType(model_.config);
    const WeightInfo* table = model_.checkpoint.Find("token_embd.weight");
    const std::optional<DType> dtype = table == nullptr ? std::nullopt : DTypeOf(table->format);
    return dtype.value_or(DType::kF16);
  }

  Output MakeOutput(const std::string& name, const WeightSource& source) const {
    constexpr std::string_view kWeight = ".weight";
    Output output;
    output.conversion.source = &source;
    const std::string mlx_name = MlxName(name);
    output.module = mlx_name.ends_with(kWeight)
                        ? mlx_name.substr(0, mlx_name.size() - kWeight.size())
                        : mlx_name;
    const DType stored = DTypeOf(source.format).value_or(dtype_.value_or(DType::kBF16));
    const DType plain = dtype_.value_or(stored);
    const std::int64_t k = source.shape[source.shape.rank() - 1];
    if (options_.rule && source.shape.rank() > 1 && mlx_name.ends_with(kWeight)) {
      const QuantRule rule =
          RuleOf(options_.recipe, *options_.rule, output.module, model_.model.info.layers);
      if (k % rule.group == 0) output.rule = rule;
    }
    output.conversion.format = output.rule
                                   ? FormatOf(*output.rule, options_.scale_dtype.value_or(plain))
                                   : PlainFormat(plain);
    output.conversion.options = {.profile = options_.profile, .source = plain};
    output.conversion.turned_head_dim = TurnedHeadDim(model_, name);
    AddTensors(mlx_name, source.shape, output);
    return output;
  }

  static void AddTensors(const std::string& name, const Shape& shape, Output& output) {
    std::vector<std::int64_t> extents;
    for (int i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
    const Format& format = output.conversion.format;
    const auto add = [&](const std::string& tensor, std::string_view type, std::int64_t width) {
      extents.back() = width;
      output.tensors.push_back({tensor, FindSafetensorsType(type), extents, {}});
    };
    const std::int64_t k = extents.back();
    if (!output.rule) return add(name, SafetensorsName(*DTypeOf(format)), k);
    add(name, "U32", k * output.rule->bits / 32);
    const bool affine = format.kind == FormatKind::kAffine;
    const std::string_view scale_type = affine ? SafetensorsName(format.scale_dtype) : "U8";
    add(output.module + ".scales", scale_type, k / output.rule->group);
    if (affine) add(output.module + ".biases", scale_type, k / output.rule->group);
  }

  const OpenedModel& model_;
  const MlxOptions& options_;
  std::optional<DType> dtype_;
  std::vector<Output> outputs_;
};

// The outputs that go into each file.
std::vector<std::vector<const Output*>> Shards(const FolderPlan& plan, Bytes shard_bytes) {
  std::vector<std::vector<const Output*>> shards;
  Bytes bytes = 0;
  for (const Output& output : plan.outputs()) {
    if (shards.empty() || bytes + output.bytes() > shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(&output);
    bytes += output.bytes();
  }
  return shards;
}

Status WriteShard(const fs::path& path, const std::vector<const Output*>& outputs, ThreadPool& pool,
                  Allocator& memory, const std::function<void(Bytes)>& written) {
  std::vector<SafetensorsTensor> tensors;
  for (const Output* output : outputs)
    tensors.insert(tensors.end(), output->tensors.begin(), output->tensors.end());
  const std::pair<std::string, std::string> metadata[] = {{"format", "mlx"}};
  ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(path.string(), tensors, metadata));
  size_t first = 0;
  for (const Output* output : outputs) {
    const auto sink = [&](const ConvertedRows& rows) -> Status {
      size_t index = first;
      Bytes bytes = 0;
      for (const std::span<const std::uint8_t> part : {rows.data, rows.scales, rows.biases}) {
        if (part.empty()) continue;
        const auto size = static_cast<Bytes>(part.size());
        RETURN_IF_ERROR(writer.Write(index++, rows.first_row * (size / rows.rows), part));
        bytes += size;
      }
      written(bytes);
      return {};
    };
    RETURN_IF_ERROR(Convert(output->conversion, pool, memory, sink));
    first += output->tensors.size();
  }
  return writer.Finish();
}

// What is no UTF-8 in a vocabulary is replaced: it cannot stand in JSON.
Status WriteJson(const fs::path& path, const Json& json) {
  std::ofstream out(path, std::ios::binary);
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  out.close();
  if (!out) return Unavailable("{}: cannot be written", path.string());
  return {};
}

std::string ShardName(size_t index, size_t count) {
  return count == 1 ? "model.safetensors"
                    : fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

Status WriteWeights(const FolderPlan& plan, const fs::path& folder, Bytes shard_bytes,
                    ThreadPool& pool, Allocator& memory, const ConvertHooks& hooks) {
  const auto shards = Shards(plan, shard_bytes);
  const Bytes total = plan.bytes();
  Bytes done = 0;
  std::map<std::string, std::string> weight_map;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = ShardName(i, shards.size());
    RETURN_IF_ERROR(WriteShard(folder / name, shards[i], pool, memory, [&](Bytes bytes) {
      done += bytes;
      if (hooks.progress) hooks.progress(done, total);
    }));
    for (const Output* output : shards[i]) {
      for (const SafetensorsTensor& tensor : output->tensors) weight_map[tensor.name] = name;
    }
  }
  const Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
  return WriteJson(folder / "model.safetensors.index.json", index);
}

// The files beside the weights that tell of text: everything but config, weights and their index.
Status CopyTextFiles(const fs::path& source, const fs::path& folder) {
  static const std::set<std::string> kSuffixes = {".json", ".jinja", ".jsonl",    ".model",
                                                  ".txt",  ".py",    ".tiktoken", ".spm"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(source, error)) {
    const std::string name = entry.path().filename().string();
    const bool weights = name == "config.json" || name.find(".safetensors.") != std::string::npos;
    if (!entry.is_regular_file() || weights ||
        !kSuffixes.contains(entry.path().extension().string()))
      continue;
    fs::copy_file(entry.path(), folder / name, error);
    if (error)
      return Unavailable("{}: cannot be copied: {}", entry.path().string(), error.message());
  }
  if (error) return Unavailable("{}: cannot be listed: {}", source.string(), error.message());
  return {};
}

}  // namespace

Result<ConvertReport> WriteMlxFolder(const OpenedModel& model, const fs::path& source,
                                     const fs::path& target, bool replace,
                                     const MlxOptions& options, ThreadPool& pool, Allocator& memory,
                                     const ConvertHooks& hooks) {
  const FolderPlan plan(model, options);
  ASSIGN_OR_RETURN(Json config, MlxConfig(model, plan.Quantization()));
  ASSIGN_OR_RETURN(Target place, Target::Begin(target, replace, plan.bytes()));
  std::error_code error;
  fs::create_directory(place.path(), error);
  if (error) return Unavailable("{}: {}", place.path().string(), error.message());

  ConvertReport report{
      .bytes = plan.bytes(), .bits_per_weight = plan.bits_per_weight(), .notes = {}};
  if (const Gguf* gguf = model.checkpoint.gguf()) {
    ASSIGN_OR_RETURN(const auto files, TokenizerFilesFromGguf(*gguf));
    for (const auto& [name, json] : files.files)
      RETURN_IF_ERROR(WriteJson(place.path() / name, json));
    if (!files.note.empty()) report.notes.push_back(files.note);
  } else {
    RETURN_IF_ERROR(
        CopyTextFiles(fs::is_directory(source) ? source : source.parent_path(), place.path()));
  }
  RETURN_IF_ERROR(WriteWeights(plan, place.path(), options.shard_bytes, pool, memory, hooks));
  RETURN_IF_ERROR(WriteJson(place.path() / "config.json", config));
  RETURN_IF_ERROR(place.Finish());
  return report;
}

}  // namespace tonnage
