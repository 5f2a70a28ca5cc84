#include "models/weight_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/quoted.h"
#include "models/gguf.h"

namespace tonnage {
namespace {

std::int64_t CountRows(const Shape& shape) {
  return shape.rank() < 2 ? 1 : shape.elements() / shape[shape.rank() - 1];
}

// How names of this graph's spelling, which is that of a bare text model, are spelled in a
// checkpoint of safetensors.
struct Spelling {
  std::string_view body;  // in the place of "model."
  std::string_view head;  // in the place of "lm_head."
};
constexpr std::string_view kBody = "model.";
constexpr std::string_view kHead = "lm_head.";
constexpr Spelling kSpellings[] = {
    {"model.", "lm_head."},
    {"language_model.model.", "language_model.lm_head."},  // a text model inside a larger one
    {"model.language_model.", "lm_head."},                 // the same, newer
    {"", "lm_head."},                                      // saved without its head
};
constexpr std::string_view kProbe = "embed_tokens.weight";

class Resolver {
 public:
  explicit Resolver(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), spelling_(kSpellings[0]) {
    const auto it = std::ranges::find_if(kSpellings, [&](const Spelling& s) {
      return checkpoint.Find(std::string(s.body) + std::string(kProbe)) != nullptr;
    });
    if (it != std::end(kSpellings)) spelling_ = *it;
  }

  Result<WeightSource> Resolve(const WeightSpec& spec) const {
    if (checkpoint_.gguf() == nullptr && spec.shape.rank() == 3) return ResolveExperts(spec);
    return Whole(spec, Spell(spec.name));
  }

 private:
  std::string Spell(const std::string& name) const {
    if (checkpoint_.gguf() != nullptr) return GgufTensorName(name);
    for (const auto& [ours, theirs] : {std::pair{kBody, spelling_.body}, {kHead, spelling_.head}}) {
      if (name.starts_with(ours)) return std::string(theirs) + name.substr(ours.size());
    }
    return name;
  }

  // All of one tensor.
  Result<WeightSource> Whole(const WeightSpec& spec, const std::string& name) const {
    WeightSource source{.shape = spec.shape};
    RETURN_IF_ERROR(Append(source, name, spec.shape, 0, CountRows(spec.shape)));
    return source;
  }

  // `X.experts.gate_proj.weight` [experts, n, k] in one of the ways in which it is stored.
  Result<WeightSource> ResolveExperts(const WeightSpec& spec) const {
    constexpr std::string_view kExperts = ".experts.";
    constexpr std::string_view kWeight = ".weight";
    const std::string name = Spell(spec.name);
    const size_t at = name.find(kExperts);
    CHECK(at != std::string::npos && name.ends_with(kWeight)) << name;
    const std::string mlp = name.substr(0, at);
    const std::string tail = name.substr(at + kExperts.size());  // gate_proj.weight
    const std::string matrix = tail.substr(0, tail.size() - kWeight.size());

    // One tensor: our own spelling, MLX's, or without a suffix.
    for (const std::string& whole :
         {name, mlp + ".switch_mlp." + tail, mlp + ".experts." + matrix}) {
      if (checkpoint_.Find(whole) != nullptr) return Whole(spec, whole);
    }
    // gate above up, for each expert.
    const std::string packed = mlp + ".experts.gate_up_proj";
    for (const std::string& both : {packed, packed + std::string(kWeight)}) {
      if (checkpoint_.Find(both) != nullptr && matrix != "down_proj") {
        return Half(spec, both, matrix == "up_proj");
      }
    }
    return OneByOne(spec, mlp, tail);
  }

  Result<WeightSource> Half(const WeightSpec& spec, const std::string& name, bool lower) const {
    const auto [experts, n, k] = std::tuple{spec.shape[0], spec.shape[1], spec.shape[2]};
    WeightSource source{.shape = spec.shape};
    for (std::int64_t e = 0; e < experts; ++e) {
      RETURN_IF_ERROR(Append(source, name, {experts, 2 * n, k}, (2 * e + (lower ? 1 : 0)) * n, n));
    }
    return source;
  }

  Result<WeightSource> OneByOne(const WeightSpec& spec, const std::string& mlp,
                                const std::string& tail) const {
    const auto [experts, n, k] = std::tuple{spec.shape[0], spec.shape[1], spec.shape[2]};
    WeightSource source{.shape = spec.shape};
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::string name = fmt::format("{}.experts.{}.{}", mlp, e, tail);
      RETURN_IF_ERROR(Append(source, name, {n, k}, 0, n));
    }
    return source;
  }

  // Adds rows of the tensor `name`, which must be there with `shape`, in the source's format.
  Status Append(WeightSource& source, const std::string& name, const Shape& shape,
                std::int64_t first_row, std::int64_t rows) const {
    ASSIGN_OR_RETURN(const WeightInfo* tensor, checkpoint_.Require(name));
    if (!(tensor->shape == shape)) {
      return Unreadable("tensor {} has the shape {}; the model's config makes it {}", Quoted(name),
                        tensor->shape.ToString(), shape.ToString());
    }
    if (!source.pieces.empty() && !(source.format == tensor->format)) {
      return Unsupported("tensor {} is stored as {}, but {}, of the same weight, as {}",
                         Quoted(name), tensor->stored_as, Quoted(source.pieces[0].tensor->name),
                         source.pieces[0].tensor->stored_as);
    }
    const FormatKind kind = tensor->format.kind;
    const bool is_float =
        kind == FormatKind::kF32 || kind == FormatKind::kF16 || kind == FormatKind::kBF16;
    if (shape.rank() == 1 && !is_float) {
      return Unsupported("tensor {} is a vector stored as {}; vectors must be F32, F16 or BF16",
                         Quoted(name), tensor->stored_as);
    }
    source.format = tensor->format;
    source.pieces.push_back({tensor, first_row, rows});
    return {};
  }

  const Checkpoint& checkpoint_;
  Spelling spelling_;
};

// The block's part of the tensor's data: as much of it where codes lie by columns, which any block
// of rows reads through.
std::span<const std::uint8_t> DataOf(const WeightBlock& block) {
  const std::span<const std::uint8_t> data = block.tensor->data;
  const auto row_bytes = data.size() / static_cast<size_t>(block.tensor->Rows());
  return data.subspan(static_cast<size_t>(block.tensor_row) * row_bytes,
                      static_cast<size_t>(block.rows) * row_bytes);
}

}  // namespace

void WeightBlock::Prefetch() const { PrefetchPages(DataOf(*this)); }

void WeightBlock::Release() const {
  ReleasePages(DataOf(*this));
  // What lies beside the rows' own bytes: scales, and pages that two blocks share.
  if (tensor_row + rows == tensor->Rows()) Checkpoint::Release(*tensor);
}

Bytes WeightSource::row_bytes() const {
  const auto bytes = FormatRowBytes(format, shape[shape.rank() - 1]);
  CHECK(bytes.has_value());  // the checkpoint has such a tensor
  return bytes->Total();
}

std::int64_t WeightSource::rows() const { return CountRows(shape); }

std::vector<WeightBlock> WeightSource::Blocks() const {
  const std::int64_t n = shape.rank() < 2 ? 1 : shape[shape.rank() - 2];
  const std::int64_t fitting =
      std::max(kBlockRows, kBlockBytes / std::max<Bytes>(row_bytes(), 1) / kBlockRows * kBlockRows);
  const std::int64_t whole_matrices = fitting / n * n;
  std::vector<WeightBlock> blocks;
  std::int64_t first_row = 0;
  for (const WeightPiece& piece : pieces) {
    for (std::int64_t done = 0; done < piece.rows;) {
      // Pieces begin where a matrix does, so that a part's place in the piece is that in its
      // matrix.
      const std::int64_t in_matrix = n - done % n;
      const std::int64_t rows = std::min(
          piece.rows - done, whole_matrices > 0 ? whole_matrices : std::min(fitting, in_matrix));
      blocks.push_back({piece.tensor, piece.first_row + done, first_row, rows});
      done += rows;
      first_row += rows;
    }
  }
  return blocks;
}

Bytes WeightSource::staging_bytes() const {
  Bytes most = 0;
  for (const WeightBlock& block : Blocks()) most = std::max(most, block.staging_bytes());
  return most;
}

Result<std::vector<WeightSource>> ResolveWeights(const Graph& graph, const Checkpoint& checkpoint) {
  const Resolver resolver(checkpoint);
  std::vector<WeightSource> sources;
  for (const WeightSpec& spec : graph.weights) {
    ASSIGN_OR_RETURN(WeightSource source, resolver.Resolve(spec));
    sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<const WeightInfo*> UnusedTensors(const Checkpoint& checkpoint,
                                             std::span<const WeightSource> sources) {
  std::set<const WeightInfo*> used;
  for (const WeightSource& source : sources) {
    for (const WeightPiece& piece : source.pieces) used.insert(piece.tensor);
  }
  std::vector<const WeightInfo*> unused;
  for (const WeightInfo& weight : checkpoint.weights()) {
    // A GGUF file's divisors of RoPE's frequencies have become part of the config.
    const bool in_config = checkpoint.gguf() != nullptr && weight.name == kGgufRopeFactors;
    if (!in_config && !used.contains(&weight)) unused.push_back(&weight);
  }
  return unused;
}

}  // namespace tonnage
