// SPDX-License-Identifier: BSD-2-Clause
// The host around the queue: frames arrive, the drain carries the token, the server answers. What
// leaves is taken down, and in the end held against what came.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>

#include "contract.hpp"
#include "packet.hpp"
#include "programs.hpp"

namespace olaf::interleave {

class Host : public World {
  public:
    Host(const olaf_config &config, const Programs &programs, const Programs &replacing);

    /// Makes this the host that programs run on, with empty maps.
    void power_on();
    /// What has happened until now is where each run begins.
    void keep();
    void begin_again() { now_ = kept_; }

    // ---- what a CPU does ----
    /// Update number `update` arrives: of worker `update`, marked by bit `update` of its lanes.
    void arrive(unsigned update, std::uint32_t cluster = 0);
    /// One that was damaged on its way: nothing may come of it.
    void arrive_damaged(unsigned update, std::uint32_t cluster = 0);
    /// The same, through the programs that `attach --replace` has just loaded.
    void arrive_at_new(unsigned update, std::uint32_t cluster = 0);
    /// The drain's CPU: ticks as often as a token comes, at most so many times.
    void ticks(unsigned most);
    void ticks_of_new(unsigned most);
    /// The server's ACK of what left with that update as its newest.
    void acknowledge(unsigned update, std::uint32_t cluster = 0);
    void order_to_empty();
    /// The next hop of this cluster's server answers from now on.
    void answer(std::uint32_t cluster);
    /// The token is lost on its way.
    void lose_token();
    void wait(std::uint64_t ns);

    // ---- what a scenario begins with ----
    void rule(std::uint32_t cluster, std::uint32_t policy, std::uint32_t max_count = 256);
    void take_link(std::uint64_t ns);
    /// The next hop of this cluster's server has not been heard of.
    void silence(std::uint32_t cluster);

    Contract &contract() { return contract_; }
    /// All CPUs have come to rest: checks, lets time pass until nothing waits, and checks again.
    /// Returns how it came out before that: a number.
    std::uint64_t settle(bool token_may_be_lost);

    static constexpr unsigned last_update = 31; ///< of those that can be told apart

    std::uint64_t now_ns() override;
    void copying(const void *from) override;
    void clone(Packet &packet, std::uint32_t ifindex, bool inwards) override;
    void redirect(std::uint32_t ifindex) override;
    [[nodiscard]] bool answers(std::uint32_t daddr_be) override;
    /// The queue has no jobs.
    int enter(xdp_md *, std::uint32_t) override { throw std::logic_error("nobody is in that room"); }

  private:
    struct Frame {
        std::uint32_t count = 0;
        std::uint64_t marks = 0;
        unsigned by = 0; ///< the CPU that sent it
    };
    /// What a run changes and the maps don't hold.
    struct Now {
        std::array<Frame, 32> left{};
        std::size_t frames = 0;
        std::array<std::uint32_t, most_cpus> redirected{};
        std::array<std::size_t, most_cpus> near_end{}; // so many came in by the drain's near end
    };
    [[nodiscard]] unsigned cpu() const { return Machine::the().cpu(); }
    [[nodiscard]] Cable *cable() const;
    Cable *grasp_cable();
    void arrive_at(const Programs &programs, std::span<const std::uint8_t> frame);
    void tick(const Programs &programs);
    void tick_as_they_come(const Programs &programs, unsigned most);
    void send_token(Packet &packet);
    void near_end(const Programs &programs);
    int run(int (*program)(__sk_buff *), Packet &packet);
    void leave(Packet &packet);
    [[nodiscard]] unsigned live_tokens() const;
    void balance(const Books &books) const;
    void take_one_more();

    Contract contract_;
    bool local_;
    const Programs &programs_, &replacing_;
    std::array<Packet, most_cpus> packets_;
    std::array<std::array<Packet, 2>, most_cpus> near_;
    Now now_, kept_;
};

} // namespace olaf::interleave
