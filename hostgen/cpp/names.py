"""Names that generated C++ cannot give to anything of the user's."""

from __future__ import annotations

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Macros of the standard library and of compilers that look like a user's names.
_MACROS = """
assert errno stdin stdout stderr linux unix i386 NULL EOF NAN INFINITY HUGE_VAL BUFSIZ RAND_MAX CHAR_BIT INT_MAX INT_MIN
INT64_MIN INT64_MAX SIZE_MAX EDOM ERANGE SIGINT SIGTERM
"""
# What the generated text itself uses.
_OURS = """
main std toolchain ops Output State load reset clone state trace session session_ state_ run folder uri how
HostCalls host_calls host_calls_
"""

RESERVED = frozenset((*_KEYWORDS.split(), *_MACROS.split(), *_OURS.split()))
