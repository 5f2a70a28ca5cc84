#include "server/router.h"

namespace tonnage {
namespace {

bool Fits(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with("/*")) return pattern == path;
  pattern.remove_suffix(1);
  return path.size() > pattern.size() && path.starts_with(pattern);
}

}  // namespace

Router::Match Router::Find(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  Match match;
  for (const http::Route& route : routes_) {
    if (!Fits(route.path, path)) continue;
    if (route.method == method) return {.handler = &route.handler};
    match.allowed += (match.allowed.empty() ? "" : ", ") + route.method;
  }
  return match;
}

}  // namespace tonnage
