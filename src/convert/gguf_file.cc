#include <algorithm>
#include <string_view>

#include "checkpoint/gguf_writer.h"
#include "convert/quantize.h"
#include "convert/target.h"
#include "convert/weight_stream.h"

namespace tonnage {
namespace {

// `general.file_type`: what most of a file's weights are, in llama.cpp's numbers.
std::uint32_t FileType(FormatKind kind) {
  switch (kind) {
    case FormatKind::kF16:
      return 1;
    case FormatKind::kQ4_0:
      return 2;
    case FormatKind::kQ4_1:
      return 3;
    case FormatKind::kQ8_0:
      return 7;
    case FormatKind::kQ4_K:
      return 14;
    case FormatKind::kQ6_K:
      return 18;
    case FormatKind::kBF16:
      return 32;
    default:
      return 0;
  }
}

// The type of one tensor: what was asked for where its rows are whole blocks of it, else the
// nearest that llama.cpp takes in its place; vectors and routers stay as they are.
const GgmlType& TypeOf(const GgufTensor& tensor, const GgmlType& asked) {
  constexpr std::uint32_t kQ8_0 = 8, kF16 = 1;
  const bool router = tensor.name.find("ffn_gate_inp.") != std::string_view::npos;
  if (tensor.shape.rank() < 2 || router) return *tensor.type;
  const std::int64_t k = tensor.shape[tensor.shape.rank() - 1];
  if (k % asked.block_elements == 0) return asked;
  return *FindGgmlType(k % 32 == 0 ? kQ8_0 : kF16);
}

struct Output {
  Conversion conversion;
  WeightSource source;  // of its own: all of one tensor
  size_t index = 0;     // in the writer
  Bytes row_bytes = 0;
};

bool IsSplitKey(std::string_view key) { return key.starts_with("split."); }

// Told of the metadata and the tensors.
GgufWriter MakeWriter(const OpenedModel& model, const GgmlType& type,
                      std::vector<Output>& outputs) {
  constexpr std::string_view kFileType = "general.file_type";
  GgufWriter writer;
  for (const GgufEntry& entry : model.checkpoint.gguf()->metadata()) {
    if (!IsSplitKey(entry.key) && entry.key != kFileType) writer.Add(entry);
  }
  writer.AddU32(kFileType, FileType(*type.format));
  for (const WeightInfo& weight : model.checkpoint.weights()) {
    const GgufTensor tensor{weight.name, FindGgmlType(weight.stored_as), weight.shape, {}};
    const GgmlType& to = TypeOf(tensor, type);
    Output& output = outputs.emplace_back();
    output.source = {
        .shape = weight.shape, .format = weight.format, .pieces = {{&weight, 0, weight.Rows()}}};
    output.conversion.format = Format::Of(*to.format);
    output.index = writer.AddTensor(weight.name, weight.shape, to);
    output.row_bytes = FormatRowBytes(output.conversion.format, weight.RowElements()).value().data;
  }
  return writer;
}

}  // namespace

Result<ConvertReport> WriteGguf(const OpenedModel& model, const std::filesystem::path& target,
                                bool replace, const GgmlType& type, ThreadPool& pool,
                                Allocator& memory, const ConvertHooks& hooks) {
  if (model.checkpoint.gguf() == nullptr) {
    return Unsupported("a GGUF file is written from a GGUF file, whose metadata it takes over");
  }
  std::vector<Output> outputs;
  for (const WeightInfo& weight : model.checkpoint.weights()) {
    if (!weight.unsupported.empty()) return Unsupported("{}", weight.unsupported);
  }
  GgufWriter writer = MakeWriter(model, type, outputs);
  ASSIGN_OR_RETURN(Target place, Target::Begin(target, replace, writer.FileBytes()));
  RETURN_IF_ERROR(writer.Create(place.path().string()));
  Bytes done = 0, elements = 0;
  for (Output& output : outputs) {
    output.conversion.source = &output.source;
    elements += output.source.shape.elements();
    const auto sink = [&](const ConvertedRows& rows) -> Status {
      RETURN_IF_ERROR(writer.Write(output.index, rows.first_row * output.row_bytes, rows.data));
      done += static_cast<Bytes>(rows.data.size());
      if (hooks.progress) hooks.progress(done, writer.FileBytes());
      return {};
    };
    RETURN_IF_ERROR(Convert(output.conversion, pool, memory, sink));
  }
  RETURN_IF_ERROR(writer.Finish());
  RETURN_IF_ERROR(place.Finish());
  return ConvertReport{.bytes = writer.FileBytes(),
                       .bits_per_weight = 8.0 * static_cast<double>(writer.FileBytes()) /
                                          static_cast<double>(std::max<Bytes>(elements, 1)),
                       .notes = {}};
}

}  // namespace tonnage
