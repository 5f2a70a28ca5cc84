#include "chat/template.h"

#include "chat/evaluator.h"
#include "chat/parser.h"
#include "chat/resolver.h"

namespace tonnage::chat {

struct Template::Impl {
  static constexpr Bytes kLargestTree = 512 * kMiB;

  std::string source;
  Arena arena{kLargestTree};
  const Tree* tree = nullptr;
};

Template::Template(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::Parse(std::string_view source) {
  auto impl = std::make_unique<Impl>();
  impl->source = NormalizeNewlines(source);
  ASSIGN_OR_RETURN(Tree * tree, ParseTree(impl->source, &impl->arena));
  RETURN_IF_ERROR(ResolveNames(tree, &impl->arena));
  impl->tree = tree;
  return Template(std::move(impl));
}

bool Template::Mentions(std::string_view variable) const {
  return impl_->source.find(variable) != std::string::npos;
}

Result<std::string> Template::Render(const Json& variables, const RenderOptions& options) const {
  if (!variables.is_object()) return InvalidArgument("a template's variables are a JSON object");
  Renderer renderer(variables, options);
  std::string out;
  if (!Evaluator(&renderer).Run(*impl_->tree, &out)) return renderer.error();
  return out;
}

}  // namespace tonnage::chat
