// SPDX-License-Identifier: BSD-2-Clause
// What left is taken down, and when everything is at rest held against what came.
#include <bit>
#include <cstring>

#include "frames.hpp"
#include "host.hpp"

namespace olaf::interleave {
namespace {

constexpr std::size_t token_generation_offset = 12 + 2 + 8; // struct olaf_token
constexpr std::uint64_t long_ns = 5'000'000'000;            // beyond any pace and any timeout
constexpr unsigned most_turns = 64;

} // namespace

void Host::leave(Packet &packet) {
    if (!is_update(packet.frame())) // a question to a next hop
        return;
    const Departed departed = read_departed(packet.frame());
    Machine::the().require(departed.exact, "a departure's lanes aren't the sum of its updates");
    Machine::the().require(now_.frames < now_.left.size(), "frames multiply");
    now_.left[now_.frames++] = {departed.count, departed.marks, cpu()};
}

/// Tokens that a tick wouldn't refuse.
unsigned Host::live_tokens() const {
    unsigned live = 0;
    for (std::uint32_t i = 0; i < cable()->tokens; i++) {
        std::uint32_t generation;
        std::memcpy(&generation, cable()->token[i] + token_generation_offset, sizeof(generation));
        live += generation == contract_.live_generation();
    }
    return live;
}

/// The server's books against the queue's.
void Host::balance(const Books &books) const {
    std::uint64_t marks = 0, count = 0;
    for (std::size_t i = 0; i < now_.frames; i++) {
        Machine::the().require((marks & now_.left[i].marks) == 0, "an update left twice");
        marks |= now_.left[i].marks;
        count += now_.left[i].count;
    }
    Machine::the().require(count == books.updates_out, "updates out are not those that left");
}

/// Where nothing waits an update finds room.
void Host::take_one_more() {
    const auto dropped = contract_.at_rest().updates_dropped;
    arrive(last_update, 0);
    const Books books = contract_.at_rest();
    Machine::the().require(books.updates_dropped == dropped,
                           "nothing waits, and an update is dropped all the same");
    balance(books);
}

std::uint64_t Host::settle(bool token_may_be_lost) {
    Machine &machine = Machine::the();
    const Books books = contract_.at_rest();
    balance(books);
    std::uint64_t outcome = books.outcome;
    for (std::size_t i = 0; i < now_.frames; i++)
        outcome = outcome * 31 + (now_.left[i].marks << 2 | now_.left[i].by);
    for (std::uint32_t cluster = 0; cluster < most_servers; cluster++)
        answer(cluster);
    for (unsigned turn = 0; turn < most_turns && contract_.waiting() != 0; turn++) {
        if (token_may_be_lost && live_tokens() == 0)
            break;
        machine.require(live_tokens() == 1, "something waits and no live token is under way");
        wait(long_ns);
        for (std::uint32_t tokens = cable()->tokens; tokens != 0; tokens--)
            tick(programs_);
    }
    machine.require(token_may_be_lost || contract_.waiting() == 0, "what waits never leaves");
    if (contract_.waiting() == 0)
        for (unsigned turn = 0; turn < most_turns && cable()->tokens != 0; turn++)
            tick(programs_);
    machine.require(contract_.waiting() != 0 || cable()->tokens == 0, "the token never ends");
    balance(contract_.at_rest());
    if (contract_.waiting() == 0)
        take_one_more();
    return outcome;
}

} // namespace olaf::interleave
