// quantize: a model written anew in another format, as mlx-lm or llama.cpp loads it.
#include <fmt/format.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/cores.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/quoted.h"
#include "checkpoint/store.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "convert/quantize.h"
#include "memory/host_memory.h"
#include "memory/pool.h"

namespace tonnage::cli {
namespace {

struct QuantizeOptions {
  std::string source;
  std::string target;
  std::string format = "mlx";
  std::string mode = "affine";
  std::optional<std::int64_t> bits;
  std::optional<std::int64_t> group;
  std::string recipe = "uniform";
  std::string profile = "cpu";
  std::string scale_dtype;
  std::string dtype;
  std::string type;
  bool force = false;
  int threads = 0;
  std::string memory_limit;
  std::string buffer_limit;
};

Result<DType> ParseDType(std::string_view option, std::string_view word) {
  if (word == "float32") return DType::kF32;
  if (word == "float16") return DType::kF16;
  if (word == "bfloat16") return DType::kBF16;
  return InvalidArgument("{} {}: use float32, float16 or bfloat16", option, Quoted(word));
}

Result<QuantRule> ParseRule(const QuantizeOptions& options) {
  const QuantMode* const mode = FindQuantMode(options.mode);
  if (mode == nullptr) {
    return InvalidArgument("--mode {}: use affine, mxfp4, mxfp8, nvfp4 or none",
                           Quoted(options.mode));
  }
  const QuantRule rule{options.mode, options.bits.value_or(mode->bits),
                       options.group.value_or(mode->group)};
  if (options.mode != "affine") {
    if (rule.bits == mode->bits && rule.group == mode->group) return rule;
    return InvalidArgument("--mode {} has {} bits in groups of {} and no others", mode->name,
                           mode->bits, mode->group);
  }
  if (rule.bits < 2 || rule.bits == 7 || rule.bits > 8)
    return InvalidArgument("--bits {}: use 2, 3, 4, 5, 6 or 8", rule.bits);
  if (rule.group != 32 && rule.group != 64 && rule.group != 128)
    return InvalidArgument("--group-size {}: use 32, 64 or 128", rule.group);
  return rule;
}

Result<MlxOptions> ParseMlx(const QuantizeOptions& options) {
  MlxOptions mlx;
  if (!options.type.empty()) return InvalidArgument("--type is for --format gguf; use --mode here");
  if (options.mode != "none") {
    ASSIGN_OR_RETURN(mlx.rule, ParseRule(options));
  }
  ASSIGN_OR_RETURN(mlx.recipe, ParseRecipe(options.recipe));
  if (mlx.recipe != Recipe::kUniform && options.mode != "affine")
    return InvalidArgument("--mixed goes with --mode affine");
  if (mlx.recipe != Recipe::kUniform && options.bits)
    return InvalidArgument("--mixed chooses the bits: leave --bits out");
  if (options.profile != "cpu" && options.profile != "gpu")
    return InvalidArgument("--profile {}: use cpu or gpu", Quoted(options.profile));
  mlx.profile = options.profile == "cpu" ? PackProfile::kMlxCpu : PackProfile::kMlxGpu;
  if (!options.scale_dtype.empty()) {
    ASSIGN_OR_RETURN(mlx.scale_dtype, ParseDType("--scale-dtype", options.scale_dtype));
  }
  if (!options.dtype.empty()) {
    ASSIGN_OR_RETURN(mlx.dtype, ParseDType("--dtype", options.dtype));
  }
  return mlx;
}

Result<const GgmlType*> ParseGgufType(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const GgmlType* type = FindGgmlType(word);
  if (type != nullptr && type->format && CanPack(*type->format)) return type;
  return InvalidArgument("--type {}: use f32, f16, bf16, q4_0, q4_1, q8_0, q4_k or q6_k",
                         Quoted(word));
}

// This process and what it converts, under the limits that loads are under.
struct ToolMemory {
  ToolMemory(const MemoryLimit& bytes, const BufferLimit& buffers)
      : budget(bytes.bytes, buffers.buffers, bytes.source, buffers.source) {}

  Ledger ledger;
  Budget budget;
  HostAllocator host{&ledger, &budget};
  Buffer process;  // what it holds already
  Pool pool{host, budget};
};

Result<std::unique_ptr<ToolMemory>> OpenToolMemory(const QuantizeOptions& options,
                                                   const Environment& environment) {
  const HostProcess process = ReadHostProcess();
  ASSIGN_OR_RETURN(const auto limits,
                   ResolveHostBudget(ReadHostLimits(process),
                                     {{"--memory-limit", options.memory_limit},
                                      {"TONNAGE_MEMORY_LIMIT", environment.memory_limit}}));
  ASSIGN_OR_RETURN(const BufferLimit buffers,
                   LowerBufferLimit(ReadHostBufferLimit(),
                                    {{"--buffer-limit", options.buffer_limit},
                                     {"TONNAGE_BUFFER_LIMIT", environment.buffer_limit}}));
  auto memory = std::make_unique<ToolMemory>(limits.front(), buffers);
  ASSIGN_OR_RETURN(memory->process, memory->host.Account(Owner::kRuntime, process.anonymous));
  return memory;
}

// As a GGUF file of that type, or as a folder where there is none.
Result<ConvertReport> Write(const QuantizeOptions& options, const OpenedModel& model,
                            const std::filesystem::path& source, const MlxOptions& mlx,
                            const GgmlType* type, const Environment& environment) {
  ASSIGN_OR_RETURN(const auto memory, OpenToolMemory(options, environment));
  ThreadPool pool(options.threads > 0 ? options.threads : UsableCores());
  ProgressLine progress("writing", environment.stderr_is_terminal);
  ConvertHooks hooks;
  hooks.progress = [&](Bytes done, Bytes total) { progress.Show(done, total); };
  if (type != nullptr) {
    return WriteGguf(model, options.target, options.force, *type, pool, memory->pool, hooks);
  }
  return WriteMlxFolder(model, source, options.target, options.force, mlx, pool, memory->pool,
                        hooks);
}

Status Quantize(const QuantizeOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(const auto source, ModelStore(environment.home).Resolve(options.source));
  const bool gguf = options.format == "gguf";
  if (!gguf && options.format != "mlx")
    return InvalidArgument("--format {}: use mlx or gguf", Quoted(options.format));
  MlxOptions mlx;
  const GgmlType* type = nullptr;
  if (gguf) {
    ASSIGN_OR_RETURN(type, ParseGgufType(options.type.empty() ? "q4_0" : options.type));
  } else {
    ASSIGN_OR_RETURN(mlx, ParseMlx(options));
  }
  ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(source.string()));
  ASSIGN_OR_RETURN(const ConvertReport report,
                   Write(options, model, source, mlx, type, environment));
  for (const std::string& note : report.notes) fmt::print(stderr, "Note: {}\n", note);
  fmt::print(stderr, "{}: {}, {:.2f} bits a weight\n", options.target, FormatBytes(report.bytes),
             report.bits_per_weight);
  return {};
}

}  // namespace

void DefineQuantize(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<QuantizeOptions>();
  app.add_option("SRC", options->source, "a name in the store, a folder, or a GGUF file")
      ->required();
  app.add_option("DST", options->target, "the folder, or the GGUF file, to write")->required();
  app.add_option("--format", options->format, "mlx: a folder; gguf: a file")->capture_default_str();
  app.add_option("--mode", options->mode,
                 "of mlx: affine, mxfp4, mxfp8, nvfp4; none writes plain numbers")
      ->capture_default_str();
  app.add_option("--bits", options->bits, "of affine: 2, 3, 4, 5, 6 or 8 (default: 4)");
  app.add_option("--group-size", options->group,
                 "of affine: weights that share a scale: 32, 64 or 128 (default: 64)");
  app.add_option("--mixed", options->recipe,
                 "uniform, mixed_3_4, mixed_3_6, mixed_4_6, or mixed (MLPs in 4 bits, the rest in "
                 "8)")
      ->capture_default_str();
  app.add_option("--profile", options->profile, "round as MLX does on its cpu or gpu")
      ->capture_default_str();
  app.add_option("--scale-dtype", options->scale_dtype,
                 "of affine scales: float32, float16 or bfloat16 (default: the source's)");
  app.add_option("--dtype", options->dtype,
                 "of what is not quantized: float32, float16 or bfloat16 (default: the source's)");
  app.add_option("--type", options->type,
                 "of gguf: q4_0, q4_1, q8_0, q4_k, q6_k, f16, bf16 or f32 (default: q4_0)");
  app.add_flag("--force", options->force, "replace DST if it is there");
  app.add_option("--threads", options->threads, "threads that compute (default: one a usable core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--memory-limit", options->memory_limit,
                 "lower the memory that it may take, such as 8G");
  app.add_option("--buffer-limit", options->buffer_limit, "lower how many buffers it may hold");
  app.callback([&, options] {
    action = [&environment, options] { return Quantize(*options, environment); };
  });
}

}  // namespace tonnage::cli
