// SPDX-License-Identifier: BSD-2-Clause
// What -fsanitize=thread makes programs call before every access. ThreadSanitizer itself isn't linked.
#include <cstring>

#include "machine.hpp"

using olaf::interleave::Access;
using olaf::interleave::Machine;

namespace {

constexpr Access plain_read{true, false, true}, plain_write{false, true, true};
constexpr Access volatile_read{true, false, false}, volatile_write{false, true, false};
constexpr Access update{true, true, false};

template <class Value> Value before_update(volatile Value *word) {
    Machine::the().access(const_cast<Value *>(word), sizeof(Value), update);
    return *word;
}

} // namespace

// The compiler chooses these names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

void __tsan_init() {}

#define OLAF_HOOK(name, bytes, kind)                                                               \
    void __tsan_##name(void *address) { Machine::the().access(address, bytes, kind); }
#define OLAF_HOOKS(bytes)                                                                          \
    OLAF_HOOK(read##bytes, bytes, plain_read)                                                      \
    OLAF_HOOK(write##bytes, bytes, plain_write)                                                    \
    OLAF_HOOK(unaligned_read##bytes, bytes, plain_read)                                            \
    OLAF_HOOK(unaligned_write##bytes, bytes, plain_write)                                          \
    OLAF_HOOK(volatile_read##bytes, bytes, volatile_read)                                          \
    OLAF_HOOK(volatile_write##bytes, bytes, volatile_write)                                        \
    OLAF_HOOK(unaligned_volatile_read##bytes, bytes, volatile_read)                                \
    OLAF_HOOK(unaligned_volatile_write##bytes, bytes, volatile_write)
OLAF_HOOKS(1)
OLAF_HOOKS(2)
OLAF_HOOKS(4)
OLAF_HOOKS(8)
OLAF_HOOKS(16)

void *__tsan_memcpy(void *to, const void *from, std::size_t bytes) {
    Machine::the().access(from, bytes, plain_read);
    Machine::the().access(to, bytes, plain_write);
    return std::memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, std::size_t bytes) {
    Machine::the().access(from, bytes, plain_read);
    Machine::the().access(to, bytes, plain_write);
    return std::memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, std::size_t bytes) {
    Machine::the().access(to, bytes, plain_write);
    return std::memset(to, value, bytes);
}

#define OLAF_ATOMICS(bits)                                                                         \
    std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t *word,         \
                                                       std::uint##bits##_t value, int) {           \
        const auto before = before_update(word);                                                   \
        *word = value;                                                                             \
        Machine::the().exchanged(const_cast<std::uint##bits##_t *>(word), before != 0, value != 0); \
        return before;                                                                             \
    }                                                                                              \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile std::uint##bits##_t *word,        \
                                                        std::uint##bits##_t value, int) {          \
        const auto before = before_update(word);                                                   \
        *word = before + value;                                                                    \
        return before;                                                                             \
    }                                                                                              \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile std::uint##bits##_t *word,        \
                                                        std::uint##bits##_t value, int) {          \
        const auto before = before_update(word);                                                   \
        *word = before - value;                                                                    \
        return before;                                                                             \
    }                                                                                              \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_or(volatile std::uint##bits##_t *word,         \
                                                       std::uint##bits##_t value, int) {           \
        const auto before = before_update(word);                                                   \
        *word = before | value;                                                                    \
        return before;                                                                             \
    }                                                                                              \
    std::uint##bits##_t __tsan_atomic##bits##_fetch_and(volatile std::uint##bits##_t *word,        \
                                                        std::uint##bits##_t value, int) {          \
        const auto before = before_update(word);                                                   \
        *word = before & value;                                                                    \
        return before;                                                                             \
    }                                                                                              \
    std::uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                \
        volatile std::uint##bits##_t *word, std::uint##bits##_t expected,                          \
        std::uint##bits##_t value, int, int) {                                                     \
        const auto before = before_update(word);                                                   \
        if (before == expected)                                                                    \
            *word = value;                                                                         \
        return before;                                                                             \
    }
OLAF_ATOMICS(32)
OLAF_ATOMICS(64)

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
