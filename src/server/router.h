// Which handler answers a request: an explicit table of methods and paths. Immutable; safe from any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace tonnage {

class Router {
 public:
  explicit Router(std::vector<http::Route> routes) : routes_(std::move(routes)) {}

  struct Match {
    const http::Handler* handler = nullptr;  // nullptr: no route takes this method there
    std::string allowed = {};                // then: the methods that are; empty where no path fits
  };
  // HEAD is answered by what answers GET.
  Match Find(std::string_view method, std::string_view path) const;

 private:
  std::vector<http::Route> routes_;
};

}  // namespace tonnage
