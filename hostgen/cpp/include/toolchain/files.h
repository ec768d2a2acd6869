// Files of a bundle: inside it, unchanged, mapped into memory. Hashes catch accidents, not attackers.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "toolchain/bundle_info.h"
#include "toolchain/error.h"
#include "toolchain/sha256.h"

namespace toolchain {

inline Error bundle_error(const char* code, std::string message) {
  return Error(code, std::move(message), "copy the bundle again, or build it again");
}

// A file mapped read-only; unmapped with the object. The file must not be overwritten in place meanwhile (SIGBUS); to
// replace it by renaming another one is fine.
//
// Threads: any number may read the memory.
class MappedFile {
 public:
  // `name` stands for the file in errors. Fails with RT104.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, const std::string& name) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return unreadable(name);
    Result<std::shared_ptr<const MappedFile>> file = map(descriptor, name);
    ::close(descriptor);
    return file;
  }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
  }

  const uint8_t* data() const { return static_cast<const uint8_t*>(data_); }
  size_t size() const { return size_; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  static Error unreadable(const std::string& name) {
    return bundle_error("RT104", name + " cannot be read: " + std::strerror(errno));
  }

  static Result<std::shared_ptr<const MappedFile>> map(int descriptor, const std::string& name) {
    struct stat status;
    if (::fstat(descriptor, &status) != 0) return unreadable(name);
    if (!S_ISREG(status.st_mode)) return bundle_error("RT104", name + " is not a regular file");
    const auto size = static_cast<size_t>(status.st_size);
    // No mapping can be empty.
    void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) return unreadable(name);
    return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
  }

  void* data_;
  size_t size_;
};

// Whether `folder`/`name` is inside of `folder`, links followed; a file that does not exist counts as inside.
inline bool is_contained(const std::filesystem::path& folder, const std::string& name) {
  std::error_code error;
  const auto root = std::filesystem::canonical(folder, error);
  if (error) return false;
  const auto file = std::filesystem::weakly_canonical(root / name, error);
  const auto relative = file.lexically_relative(root);
  return !error && !relative.empty() && *relative.begin() != "..";
}

// Maps a file of the bundle in `folder`; compares its contents with the hash if `verify`, its size in any case.
// Fails with RT104, or RT105 if a link leads out of the bundle.
inline Result<std::shared_ptr<const MappedFile>> open_checked(const std::string& folder, const FileInfo& info,
                                                              bool verify) {
  const std::string name = info.path;
  if (!is_contained(folder, name)) return bundle_error("RT105", "'" + name + "' leads out of the bundle");
  TOOLCHAIN_ASSIGN(auto file, MappedFile::open(folder + "/" + name, name));
  if (file->size() != info.size) {
    return bundle_error("RT104", name + " has " + std::to_string(file->size()) + " bytes instead of " +
                                     std::to_string(info.size));
  }
  if (verify && sha256(file->data(), file->size()) != info.sha256) {
    return bundle_error("RT104", "the contents of " + name + " have been changed");
  }
  return file;
}

}  // namespace toolchain
