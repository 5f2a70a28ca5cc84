# The layers, from the bottom up, each with the libraries from outside that it needs.
layer(base LINK nlohmann_json::nlohmann_json fmt::fmt spdlog::spdlog Threads::Threads)
layer(tokenizer LINK PkgConfig::PCRE2 PkgConfig::ICU)
layer(chat LINK PkgConfig::ICU)
