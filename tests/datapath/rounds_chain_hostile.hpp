// SPDX-License-Identifier: BSD-2-Clause
// Frames that nobody of a chain sends: to either node as if from its children, to the lower one as if from its parent.
#pragma once

#include "rounds_chain_steps.hpp"

namespace olaf::test {

class RoundsChain : public RoundsChainSteps {
  protected:
    /// What a node has refused, and how often each hostility was tried.
    struct Refused {
        std::map<RoundRefusal, std::uint64_t> by_reason;
        std::array<std::uint64_t, hostilities> tried{};
    };
    /// Spoilt results of the parent's.
    enum class Forgery { other_port, other_host, too_few_lanes, no_lanes, other_format, chunk_beyond, other_job };
    static constexpr std::size_t forgeries = static_cast<std::size_t>(Forgery::other_job) + 1;

    /// Each rank is bound before anybody can take it. The lower node is a child of the upper one.
    void bind_all() {
        const RoundMessage hello{.chunks = chunks, .generation = 0, .time = 1};
        for (auto message = hello; message.rank < setup.children; message.rank++) {
            if (is_bound(message.rank))
                bind_for_good(queue, message.rank, GetParam());
            step_low(message);
        }
        for (auto message = hello; message.rank < upper.setup.children; message.rank++) {
            if (is_bound(message.rank))
                bind_for_good(upper.queue, message.rank);
            step_high(message);
        }
    }

    void hostile_step() {
        const auto where = below(3);
        if (where == 0)
            forge_child(*this, some_message(low, front_low, workers_below, stamps_low), gate_low, at_low, GetParam());
        else if (where == 1)
            forge_child(upper, some_message(high, front_high, workers_above + 1, stamps_high), gate_high, at_high, 4);
        else
            forge_parent();
    }

    /// A frame that none of the node's children sends, instead of a good one: nothing comes of it but its count.
    template <class Node>
    void forge_child(Node &node, const RoundMessage &message, model::RoundGate &gate, Refused &refused, int family) {
        const auto how = static_cast<Hostility>(below(hostilities));
        if (message.kind != Kind::contribution || message.lanes.empty() ||
            (how == Hostility::other_port && !is_bound(message.rank)))
            return;
        SCOPED_TRACE("hostility " + std::to_string(static_cast<int>(how)));
        auto wire = on_wire(node.setup, message);
        auto sender = sender_of(message.rank);
        spoil(how, wire, sender, node.setup.children);
        const auto refusal = gate.judge(seen(wire, sender, node.setup.shape));
        ASSERT_NE(refusal, RoundRefusal::none);
        expect_refused(node, node.queue.offer(olaf::test::path_of(sender, family).carrying(wire)), refusal, refused);
        refused.tried[static_cast<std::size_t>(how)]++;
    }

    /// A result that is under way to the lower node, with other lanes, as somebody else makes it.
    void forge_parent() {
        if (down.empty())
            return;
        auto forged = down[below(static_cast<std::uint32_t>(down.size()))];
        if (forged.type != OLAF_RESULT || forged.lanes.empty())
            return;
        const auto how = static_cast<Forgery>(below(forgeries));
        SCOPED_TRACE("forgery " + std::to_string(static_cast<int>(how)));
        for (auto &lane : forged.lanes)
            lane = ~lane;
        auto path = RoundsTree::down();
        const auto refusal = spoil_result(how, forged, path);
        expect_refused(*this, queue.offer(path.carrying(forged)), refusal, at_low);
        forged_results[static_cast<std::size_t>(how)]++;
    }
    static RoundRefusal spoil_result(Forgery how, JobMessage &forged, Path &path) {
        switch (how) {
        case Forgery::other_port: path.source_port(999); return RoundRefusal::result;
        case Forgery::other_host: path.source(99); return RoundRefusal::result;
        case Forgery::too_few_lanes: forged.lanes.pop_back(); return RoundRefusal::shape;
        case Forgery::no_lanes: forged.lanes.clear(); return RoundRefusal::shape;
        case Forgery::other_format:
            forged.flags |= OLAF_FORMAT_I16X4 << OLAF_FLAG_FORMAT_SHIFT;
            return RoundRefusal::shape;
        case Forgery::chunk_beyond: forged.chunk = forged.chunks; return RoundRefusal::chunk;
        case Forgery::other_job: forged.job++; return RoundRefusal::no_job;
        }
        return RoundRefusal::none;
    }

    template <class Node>
    static void expect_refused(Node &node, const Ran &ran, RoundRefusal refusal, Refused &refused) {
        EXPECT_STREQ(verdict_name(ran.verdict), refusal == RoundRefusal::no_job ? "XDP_PASS" : "XDP_DROP");
        refused.by_reason[refusal]++;
        EXPECT_EQ(counted(node.queue.counters(), refusal), refused.by_reason[refusal]);
    }

    /// Nothing else was refused, and a long stream has some of each.
    void expect_refusals(std::uint64_t steps) {
        for (const auto refusal : refusals) {
            EXPECT_EQ(counted(queue.counters(), refusal), at_low.by_reason[refusal]);
            EXPECT_EQ(counted(upper.queue.counters(), refusal), at_high.by_reason[refusal]);
        }
        if (steps < 50'000)
            return;
        for (std::size_t how = 0; how < hostilities; how++) {
            EXPECT_GT(at_low.tried[how], 20u) << "hostility " << how;
            EXPECT_GT(at_high.tried[how], 20u) << "hostility " << how;
        }
        for (std::size_t how = 0; how < forgeries; how++)
            EXPECT_GT(forged_results[how], 10u) << "forgery " << how;
    }

    Refused at_low, at_high;
    std::array<std::uint64_t, forgeries> forged_results{};
};

} // namespace olaf::test
