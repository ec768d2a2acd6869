// Errors as values. Nothing in this library throws, and everything compiles with -fno-exceptions and -fno-rtti.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace toolchain {

// Why something failed. Cheap to copy; immutable, so that any thread may read it.
//
// An error of this library has a code, the same as in Python: RT1xx the bundle, RT2xx the arguments, RT3xx the device or
// the execution. An exception that the user's program raises has none; it has Python's name of the type instead.
class Error {
 public:
  Error(const char* code, std::string message, std::string hint = {})
      : content_(std::make_shared<Content>(Content{code, {}, std::move(message), std::move(hint)})) {}

  // The exception `type` of the user's program, e.g. "ValueError", with what str() of it gives.
  static Error raised(std::string type, std::string text) {
    Error error("", std::move(text));
    error.content_->exception = std::move(type);
    return error;
  }

  // "RT104"; empty for an exception of the user's program.
  const std::string& code() const { return content_->code; }
  // "ValueError"; empty for an error of this library.
  const std::string& exception() const { return content_->exception; }
  const std::string& message() const { return content_->message; }
  // What to do about it; may be empty.
  const std::string& hint() const { return content_->hint; }

  // For people: "[RT104] message", then the hint on a line of its own; or "ValueError: message".
  std::string describe() const {
    if (!exception().empty()) return message().empty() ? exception() : exception() + ": " + message();
    return "[" + code() + "] " + message() + (hint().empty() ? "" : "\n  hint: " + hint());
  }

 private:
  struct Content {
    std::string code, exception, message, hint;
  };
  std::shared_ptr<Content> content_;
};

// A value, or why there is none. `if (result) use(*result); else report(result.error());`
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return content_.index() == 0; }
  // Only if there is a value.
  T& operator*() & { return *std::get_if<0>(&content_); }
  const T& operator*() const& { return *std::get_if<0>(&content_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&content_)); }
  T* operator->() { return std::get_if<0>(&content_); }
  const T* operator->() const { return std::get_if<0>(&content_); }
  // Only if there is none.
  const Error& error() const { return *std::get_if<1>(&content_); }

 private:
  std::variant<T, Error> content_;
};

// Success, or why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace toolchain

#define TOOLCHAIN_JOIN_(a, b) a##b
#define TOOLCHAIN_JOIN(a, b) TOOLCHAIN_JOIN_(a, b)

// Returns the error of the Status `...` if there is one: TOOLCHAIN_TRY(session.call(...)).
#define TOOLCHAIN_TRY(...)                                            \
  do {                                                                \
    if (auto toolchain_status = __VA_ARGS__; !toolchain_status) {     \
      return toolchain_status.error();                                \
    }                                                                 \
  } while (false)

// Assigns the value of the Result `...`, or returns its error: TOOLCHAIN_ASSIGN(const int64_t n, ops::add(a, b)).
#define TOOLCHAIN_ASSIGN(target, ...) \
  TOOLCHAIN_ASSIGN_(TOOLCHAIN_JOIN(toolchain_result_, __LINE__), target, __VA_ARGS__)
#define TOOLCHAIN_ASSIGN_(result, target, ...) \
  auto result = __VA_ARGS__;                   \
  if (!result) return result.error();          \
  target = *std::move(result)
