// SPDX-License-Identifier: BSD-2-Clause
// makecontext() makes the stack; _setjmp() switches, because swapcontext() asks the kernel.
#include "fiber.hpp"

#include <ucontext.h>

#include <cstdint>
#include <utility>

namespace olaf::interleave {
namespace {
constexpr std::size_t stack_bytes = 256 * 1024;
}

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(std::make_unique<char[]>(stack_bytes)) {}

void Fiber::resume() {
    if (_setjmp(outside_) != 0)
        return;
    if (started_)
        _longjmp(inside_, 1);
    start();
}

void Fiber::yield() {
    if (_setjmp(inside_) == 0)
        _longjmp(outside_, 1);
}

void Fiber::start() {
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack_.get();
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    started_ = true;
    setcontext(&context);
}

void Fiber::enter(unsigned high, unsigned low) {
    reinterpret_cast<Fiber *>(std::uintptr_t{high} << 32 | low)->run();
}

void Fiber::run() {
    for (;;) {
        body_();
        finished_ = true;
        yield();
    }
}

bool Fiber::owns(const void *address) const {
    return address >= stack_.get() && address < stack_.get() + stack_bytes;
}

} // namespace olaf::interleave
