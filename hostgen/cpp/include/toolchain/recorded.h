// Runs a bundle's recorded calls, or one call on the user's .npy files: what a generated `main.cpp` needs.
#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "toolchain/npy.h"
#include "toolchain/toolchain.h"

namespace toolchain::recorded {

// A recorded argument or result: of a tensor the .npy file, of a scalar its value.
struct Datum {
  char kind = 'n';  // 't'ensor, 'i'nt, 'f'loat, 'b'ool, 's'tring, or 'n'one
  const char* text = "";
  int64_t integer = 0;
  double number = 0;
};

constexpr Datum tensor(const char* path) { return {'t', path, 0, 0}; }
constexpr Datum integer(int64_t value) { return {'i', "", value, 0}; }
constexpr Datum number(double value) { return {'f', "", 0, value}; }
constexpr Datum boolean(bool value) { return {'b', "", value, 0}; }
constexpr Datum text(const char* value) { return {'s', value, 0, 0}; }

// A recorded call: what it takes (`after`: as the call leaves it, or empty if that is as it was), and what it returns,
// raises and prints.
struct Call {
  size_t entry;
  Span<Datum> inputs;
  Span<Datum> after;
  Span<Datum> outputs;
  const char* exception;
  const char* text;
  const char* printed;
};

// Calls to be made in order after a reset.
struct Test {
  const char* name;
  Span<Call> calls;
};

// An entry, and a kind (see Datum) for each of its inputs.
struct Entry {
  const char* name;
  const char* inputs;
};

// A value in host memory: what a Datum stands for, or a part of a result.
using Value = std::variant<None, HostTensor, int64_t, double, bool, std::string>;

// Arguments of a call, by position; each must be of the kind that is asked for.
class Arguments {
 public:
  std::vector<Value> values;

  TensorView view(size_t index) const { return std::get_if<HostTensor>(&values[index])->view(); }
  MutableTensorView mutable_view(size_t index) { return std::get_if<HostTensor>(&values[index])->mutable_view(); }
  template <class T>
  const T& scalar(size_t index) const {
    return *std::get_if<T>(&values[index]);
  }
};

// The parts of a result in host memory, in order. Fails with RT304 if one cannot be read.
class Parts {
 public:
  std::vector<Value> values;

  Status add(const Tensor& tensor) {
    HostTensor copy = {tensor.dtype(), tensor.dims(), std::vector<uint8_t>(tensor.byte_length())};
    TOOLCHAIN_TRY(tensor.read(copy.bytes.data()));
    return keep(std::move(copy));
  }
  Status add(None) { return keep(None{}); }
  Status add(int64_t value) { return keep(value); }
  Status add(double value) { return keep(value); }
  Status add(bool value) { return keep(value); }
  Status add(const std::string& value) { return keep(value); }

  template <class T>
  Status add(const std::vector<T>& list) {
    for (size_t i = 0; i < list.size(); ++i) TOOLCHAIN_TRY(add(static_cast<const T&>(list[i])));
    return {};
  }
  template <class... T>
  Status add(const std::tuple<T...>& items) {
    return std::apply([&](const auto&... item) { return add_all(item...); }, items);
  }
  template <class T>
  Status add(const std::optional<T>& value) {
    return value ? add(*value) : add(None{});
  }
  template <class... T>
  Status add(const std::variant<T...>& value) {
    return std::visit([&](const auto& chosen) { return add(chosen); }, value);
  }
  // A struct of a generated program.
  template <class Struct>
  auto add(const Struct& value) -> decltype(value.members(), Status()) {
    return add(value.members());
  }

 private:
  template <class T>
  Status keep(T value) {
    values.emplace_back(std::in_place_type<T>, std::move(value));
    return {};
  }
  Status add_all() { return {}; }
  template <class First, class... Others>
  Status add_all(const First& first, const Others&... others) {
    TOOLCHAIN_TRY(add(first));
    return add_all(others...);
  }
};

// The parts of what a call has returned, or its error.
template <class T>
Result<Parts> parts(const Result<T>& result) {
  if (!result) return result.error();
  Parts found;
  TOOLCHAIN_TRY(found.add(*result));
  return found;
}

inline Result<Value> load(const std::string& bundle, const Datum& datum) {
  switch (datum.kind) {
    case 't': {
      TOOLCHAIN_ASSIGN(HostTensor tensor, load_npy(bundle + "/" + datum.text));
      return Value(std::move(tensor));
    }
    case 'i': return Value(datum.integer);
    case 'f': return Value(datum.number);
    case 'b': return Value(datum.integer != 0);
    case 's': return Value(std::string(datum.text));
    default: return Value(None{});
  }
}

inline Result<Arguments> load_all(const std::string& bundle, Span<Datum> data) {
  Arguments loaded;
  for (const Datum& datum : data) {
    TOOLCHAIN_ASSIGN(Value value, load(bundle, datum));
    loaded.values.push_back(std::move(value));
  }
  return loaded;
}

// The element as a double; of an integer it may be rounded.
inline double element(const HostTensor& tensor, size_t index) {
  const uint8_t* at = tensor.bytes.data() + index * size_of(tensor.dtype);
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (tensor.dtype) {
    case DType::boolean:
    case DType::uint8: return as(uint8_t{});
    case DType::int8: return as(int8_t{});
    case DType::int16: return as(int16_t{});
    case DType::int32: return as(int32_t{});
    case DType::int64: return static_cast<double>(as(int64_t{}));
    case DType::float16: return to_float(as(Float16{}));
    case DType::bfloat16: return to_float(as(BFloat16{}));
    case DType::float32: return as(float{});
    case DType::float64: return as(double{});
  }
  return 0;
}

inline bool is_float(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 || dtype == DType::float64;
}

// Floating-point numbers agree within rtol of themselves plus atol of the largest number beside them; nan equals nan.
constexpr double kRtol = 1e-4, kAtol = 1e-5;

inline bool is_close(double a, double b, double scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= kRtol * std::fabs(b) + kAtol * scale;
}

inline bool same(const HostTensor& actual, const HostTensor& expected) {
  if (actual.dtype != expected.dtype || actual.dims != expected.dims) return false;
  if (!is_float(actual.dtype)) return actual.bytes == expected.bytes;
  const size_t count = count_elements(actual.dims);
  double scale = 1;
  for (const HostTensor* tensor : {&actual, &expected}) {
    for (size_t i = 0; i < count; ++i) {
      const double magnitude = std::fabs(element(*tensor, i));
      if (std::isfinite(magnitude)) scale = std::fmax(scale, magnitude);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (!is_close(element(actual, i), element(expected, i), scale)) return false;
  }
  return true;
}

inline bool same(const Value& actual, const Value& expected) {
  if (actual.index() != expected.index()) return false;
  if (const auto* tensor = std::get_if<HostTensor>(&actual)) return same(*tensor, *std::get_if<HostTensor>(&expected));
  if (const auto* number = std::get_if<double>(&actual)) {
    const double other = *std::get_if<double>(&expected);
    return is_close(*number, other, std::fmax(1, std::fmax(std::fabs(*number), std::fabs(other))));
  }
  if (const auto* integer = std::get_if<int64_t>(&actual)) return *integer == *std::get_if<int64_t>(&expected);
  if (const auto* boolean = std::get_if<bool>(&actual)) return *boolean == *std::get_if<bool>(&expected);
  if (const auto* text = std::get_if<std::string>(&actual)) return *text == *std::get_if<std::string>(&expected);
  return true;
}

// For people: a scalar as Python prints it; of a tensor its dtype and shape, and its first elements.
inline std::string shown(const Value& value) {
  constexpr size_t most = 8;
  if (const auto* tensor = std::get_if<HostTensor>(&value)) {
    std::string text = describe(tensor->dtype, tensor->dims);
    const size_t count = count_elements(tensor->dims);
    for (size_t i = 0; i < count && i < most; ++i) {
      char buffer[32];
      std::snprintf(buffer, sizeof buffer, " %.6g", element(*tensor, i));
      text += buffer;
    }
    return count > most ? text + " ..." : text;
  }
  if (const auto* integer = std::get_if<int64_t>(&value)) return ops::str_(*integer);
  if (const auto* number = std::get_if<double>(&value)) return ops::str_(*number);
  if (const auto* boolean = std::get_if<bool>(&value)) return ops::str_(*boolean);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "None";
}

// Catches what is written to standard output while it lives.
class Printed {
 public:
  Printed() : file_(std::tmpfile()), saved_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (file_) dup2(fileno(file_), STDOUT_FILENO);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  ~Printed() {
    finish();
    close(saved_);
    if (file_) std::fclose(file_);
  }

  // Ends the catching; what was written.
  std::string finish() {
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    std::string text;
    if (!file_) return text;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    return text;
  }

 private:
  std::FILE* file_;
  int saved_;
};

// What differs between arguments after a call and the recorded ones; empty if nothing does.
inline Result<std::string> difference(const Arguments& arguments, const Call& call, const std::string& bundle) {
  for (size_t i = 0; i < call.after.size(); ++i) {
    TOOLCHAIN_ASSIGN(const Value expected, load(bundle, call.after[i]));
    const Value& actual = arguments.values[i];
    if (!same(actual, expected)) {
      return "input " + std::to_string(i) + " is " + shown(actual) + " after it, not " + shown(expected);
    }
  }
  return std::string();
}

// What differs between a call's outcome and the recorded one; empty if nothing does.
inline Result<std::string> difference(const Result<Parts>& outcome, const std::string& printed, const Call& call,
                                      const std::string& bundle) {
  if (printed != call.printed) return "it prints " + printed + " instead of " + call.printed;
  if (!outcome) {
    const Error& error = outcome.error();
    if (error.exception() == call.exception && error.message() == call.text) return std::string();
    return error.describe();
  }
  if (*call.exception) return std::string("it should raise ") + call.exception + ": " + call.text;
  if (outcome->values.size() != call.outputs.size()) {
    return "it gives " + std::to_string(outcome->values.size()) + " values instead of " +
           std::to_string(call.outputs.size());
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    TOOLCHAIN_ASSIGN(const Value expected, load(bundle, call.outputs[i]));
    const Value& actual = outcome->values[i];
    if (!same(actual, expected)) return "value " + std::to_string(i) + " is " + shown(actual) + ", not " + shown(expected);
  }
  return std::string();
}

// Calls entry `entry` of the program with `arguments`, whose kinds fit.
template <class Program>
using Caller = Result<Parts> (*)(Program& program, size_t entry, Arguments& arguments);

inline void print(const std::vector<Decision>& decisions) {
  for (const Decision& d : decisions) std::printf("%s %d %s\n", d.function, d.block, d.taken ? "True" : "False");
}

// Makes all recorded calls and reports on each, with its decisions if wanted; how many were wrong. Fails if a file of the
// bundle cannot be read.
template <class Program>
Result<size_t> run_tests(Program& program, const std::string& bundle, Span<Test> tests, Caller<Program> call_entry,
                         bool shows_decisions) {
  size_t wrong = 0;
  std::vector<Decision> decisions;
  program.trace(shows_decisions ? &decisions : nullptr);
  for (const Test& test : tests) {
    program.reset();
    for (size_t i = 0; i < test.calls.size(); ++i) {
      const Call& call = test.calls[i];
      TOOLCHAIN_ASSIGN(Arguments arguments, load_all(bundle, call.inputs));
      decisions.clear();
      Printed printed;
      const Result<Parts> outcome = call_entry(program, call.entry, arguments);
      TOOLCHAIN_ASSIGN(std::string problem, difference(outcome, printed.finish(), call, bundle));
      if (problem.empty()) {
        TOOLCHAIN_ASSIGN(problem, difference(arguments, call, bundle));
      }
      wrong += !problem.empty();
      std::printf("test %s call %zu: %s\n", test.name, i, problem.empty() ? "ok" : problem.c_str());
      print(decisions);
    }
  }
  return wrong;
}

// A command-line argument as a value of a kind. Fails with RT202, or RT206 for a file that is no array.
inline Result<Value> parse(char kind, const std::string& text) {
  if (kind == 't') {
    TOOLCHAIN_ASSIGN(HostTensor tensor, load_npy(text));
    return Value(std::move(tensor));
  }
  if (kind == 's') return Value(text);
  if (kind == 'b' && (text == "True" || text == "False")) return Value(text == "True");
  if (kind == 'i') {
    if (auto value = ops::int_(text)) return Value(*value);
  }
  if (kind == 'f') {
    if (auto value = ops::float_(text)) return Value(*value);
  }
  return Error("RT202", "'" + text + "' is no value of the input's type", "write True, False, or a number");
}

template <class Program>
Status run_once(Program& program, size_t entry, const char* kinds, const std::vector<std::string>& texts,
                Caller<Program> call_entry) {
  const size_t arity = std::string_view(kinds).size();
  if (texts.size() != arity) {
    return Error("RT201", "expected " + std::to_string(arity) + " inputs, found " + std::to_string(texts.size()),
                 "name an .npy file for each tensor, and write scalars as in Python");
  }
  Arguments arguments;
  for (size_t i = 0; i < arity; ++i) {
    TOOLCHAIN_ASSIGN(Value value, parse(kinds[i], texts[i]));
    arguments.values.push_back(std::move(value));
  }
  TOOLCHAIN_ASSIGN(const Parts results, call_entry(program, entry, arguments));
  for (const Value& value : results.values) std::printf("%s\n", shown(value).c_str());
  return {};
}

// What the command line asks for.
struct Options {
  std::string bundle;
  std::string device = "local-sync";
  std::string entry;
  bool tests = false;
  bool decisions = false;
  std::vector<std::string> inputs;
};

inline std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--tests") options.tests = true;
    else if (word == "--decisions") options.decisions = true;
    else if ((word == "--device" || word == "--entry") && i + 1 < argc) {
      (word == "--device" ? options.device : options.entry) = argv[++i];
    } else if (word.compare(0, 2, "--") == 0) return std::nullopt;
    else words.push_back(word);
  }
  if (words.empty() || (options.tests && words.size() > 1)) return std::nullopt;
  options.bundle = words[0];
  options.inputs.assign(words.begin() + 1, words.end());
  return options;
}

inline int report(const Error& error) {
  std::fprintf(stderr, "%s\n", error.describe().c_str());
  return 1;
}

inline int usage(const char* program, Span<Entry> entries) {
  std::fprintf(stderr,
               "usage: %s BUNDLE [--device URI] [--decisions] --tests\n"
               "       %s BUNDLE [--device URI] [--entry NAME] [--decisions] INPUT...\n"
               "An INPUT is an .npy file for a tensor, or a scalar as Python writes it. Entries:",
               program, program);
  for (const Entry& entry : entries) std::fprintf(stderr, " %s", entry.name);
  std::fprintf(stderr, "\n");
  return 2;
}

// `main`: exits with 0 if everything went well, 1 if not, 2 if the command line makes no sense.
template <class Program>
int run_main(int argc, char** argv, Span<Entry> entries, Span<Test> tests, Caller<Program> call_entry) {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) return usage(argv[0], entries);
  size_t entry = 0;
  while (entry < entries.size() && !options->entry.empty() && options->entry != entries[entry].name) ++entry;
  if (entry == entries.size()) return usage(argv[0], entries);
  auto program = Program::load(options->bundle, options->device);
  if (!program) return report(program.error());
  if (options->tests) {
    const auto wrong = run_tests(*program, options->bundle, tests, call_entry, options->decisions);
    return wrong ? *wrong > 0 : report(wrong.error());
  }
  std::vector<Decision> decisions;
  program->trace(&decisions);
  const Status done = run_once(*program, entry, entries[entry].inputs, options->inputs, call_entry);
  if (options->decisions) print(decisions);
  return done ? 0 : report(done.error());
}

}  // namespace toolchain::recorded
