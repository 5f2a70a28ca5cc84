#include "checkpoint/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <fstream>
#include <memory>
#include <vector>

namespace tonnage {

Result<Digest> FileDigest(const std::filesystem::path& path, Digest::Kind kind) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Unreadable("{}: cannot be opened", path.string());
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  const EVP_MD* algorithm = kind == Digest::Kind::kSha256 ? EVP_sha256() : EVP_sha1();
  if (context == nullptr || EVP_DigestInit_ex(context.get(), algorithm, nullptr) != 1) {
    return Internal("the system's libcrypto lacks SHA-256 or SHA-1");
  }
  if (kind == Digest::Kind::kGitSha1) {
    const std::string header = fmt::format("blob {}", static_cast<std::int64_t>(file.tellg()));
    EVP_DigestUpdate(context.get(), header.c_str(), header.size() + 1);  // with its final zero
  }
  file.seekg(0);
  std::vector<char> block(1 << 20);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return Unreadable("{}: reading failed", path.string());
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest, &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return Digest{kind, std::move(text)};
}

Result<std::string> FileSha256(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(Digest digest, FileDigest(path, Digest::Kind::kSha256));
  return std::move(digest.hex);
}

}  // namespace tonnage
