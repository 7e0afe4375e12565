// SPDX-License-Identifier: BSD-2-Clause
// What worlds a seed makes.
#include <algorithm>

#include "round_simulation.hpp"

namespace olaf::model {

RoundWorld random_world(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto upto = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(random() % (most + 1));
    };
    constexpr double kLosses[] = {0, 0.01, 0.05, 0.2};
    RoundWorld world = {.seed = seed, .workers = 2 + upto(2), .tree = upto(2) == 0};
    world.pool = static_cast<std::uint8_t>(upto(4));
    world.second_pool = upto(1) ? world.pool : static_cast<std::uint8_t>(upto(4));
    world.workers = world.tree ? 4 : world.workers;
    world.loss = kLosses[upto(3)];
    world.duplication = upto(1) ? 0.05 : 0;
    world.reordering = upto(1) ? 0.1 : 0;
    world.restarts = upto(1) ? upto(3) : 0;
    world.slow_worker = upto(3) == 0;
    world.under_way = 1 + upto(3);
    world.lag = upto(2) ? 0 : 1 + upto(8);
    const std::uint32_t rounds = 1 + upto(5);
    const bool small = upto(2) > 0;
    for (std::uint32_t round = 0; round < rounds; round++)
        world.vectors.push_back(1 + upto(small ? 5 : upto(9) == 0 ? 199 : 40));
    world.spares = world.lag > 0 && upto(1) == 0;
    return world;
}

RoundWorld impatient_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.restarts = 0;
    // Who has missed a chunk contributes nothing to what follows from it. If two have, N - 1 never
    // do.
    world.spares = world.spares && seed % 2 != 0;
    // As in a short vector: a chunk that is spared leads to no other. Who has missed what spares it knows no more.
    for (std::uint32_t &chunks : world.vectors)
        chunks = world.spares ? std::min(chunks, 2 * world.lag) : chunks;
    if (seed % 2 == 0)
        world.threshold = (world.tree ? 2 : world.workers) - 1;
    else
        world.deadline_ns = 1 + 100'000 * (seed % 7);
    return world;
}

RoundWorld damaged_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.damage = seed % 2 == 0 ? 0.01 : 0.1;
    world.multicast = seed % 5 == 0;
    return world;
}

RoundWorld impatient_damaged_world(std::uint64_t seed) {
    RoundWorld world = impatient_world(seed);
    world.damage = seed / 2 % 2 == 0 ? 0.01 : 0.1;
    if (world.tree && seed % 3 == 0) {
        world.threshold = 0;
        world.deadline_ns = 0;
        world.lowest_threshold = 1;
    }
    return world;
}

RoundWorld other_exponents_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    std::mt19937_64 random(~seed);
    const auto upto = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(random() % (most + 1));
    };
    world.other_exponents = true;
    world.deadline_ns = 1 + 100'000 * upto(6);
    world.resets = 1 + upto(10);
    world.loss = std::max(world.loss, 0.05);
    world.lag = 1 + upto(5);
    world.spares = upto(1) == 0;
    for (std::uint32_t &chunks : world.vectors)
        chunks = world.spares ? 2 * world.lag : world.lag + 1 + chunks % (2 * world.lag);
    world.vectors.resize(world.vectors.size() + upto(10), world.vectors.back());
    return world;
}

RoundWorld skipping_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.tree = false;
    world.restarts = 0;
    world.threshold = world.workers - 1;
    world.spares = false;
    world.slow_worker = world.skips = true;
    world.slow_pace = 300'000;
    world.vectors = std::vector<std::uint32_t>(20 + seed % 20, 1 + seed % 5);
    return world;
}

RoundWorld odd_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.restarts = 0; // who has failed doesn't agree where to begin
    world.server = seed % 4 == 0;
    world.spares = world.spares && !world.server;
    world.odd_worker = seed / 4 % world.workers;
    world.odd_round = static_cast<std::uint32_t>(seed / 16 % world.vectors.size());
    return world;
}

RoundWorld reborn_world(std::uint64_t seed) {
    RoundWorld world = seed % 4 == 0 ? serving_world(seed) : random_world(seed);
    std::mt19937_64 random(~seed);
    const auto upto = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(random() % (most + 1));
    };
    world.deaths = 1 + upto(3);
    world.resets = world.server ? 0 : upto(2);
    world.slow_pace = 10'000 * (1 + upto(20));
    world.multicast = upto(4) == 0;
    world.clocks_ahead = upto(1) == 0;
    // Long enough that most die in the middle.
    const auto vectors = static_cast<std::uint32_t>(world.vectors.size());
    world.vectors.resize(vectors + upto(20), std::min(world.vectors.back(), 6U));
    return world;
}

RoundWorld later_world(std::uint64_t seed) {
    RoundWorld world = reborn_world(seed);
    world.server = false;
    world.later_runs = true;
    return world;
}

RoundWorld parted_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.tree = world.parted = world.clocks_ahead = true;
    world.workers = 4;
    world.restarts = 0; // they are set anew once
    world.deaths = seed % 3 == 0 ? 1 : 0;
    return world;
}

RoundWorld changing_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.tree = false;
    world.workers = 3 + static_cast<std::uint32_t>(seed % 3);
    world.late = {world.workers - 1};
    if (seed / 3 % 2)
        world.late.insert(world.workers - 2);
    if (world.restarts == 0 && seed / 6 % 2)
        world.leaving = {0};
    world.resets = seed / 12 % 3 == 0 ? 2 : 0;
    return world;
}

RoundWorld changing_tree(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.tree = true;
    world.workers = 4 + static_cast<std::uint32_t>(seed % 3);
    std::mt19937_64 random(~seed);
    const auto vectors = static_cast<std::uint32_t>(world.vectors.size());
    world.vectors.resize(vectors + random() % 40, 1 + static_cast<std::uint32_t>(random() % 12));
    world.fewer = static_cast<std::uint32_t>(world.vectors.size()) - vectors;
    world.resets = random() % 3 == 0 ? 2 : 0;
    const std::uint32_t half = (world.workers + 1) / 2;
    for (std::uint32_t i = 0; i < world.workers; i++) {
        // A node without workers is still its parent's member, so one below each stays.
        if (i == 0 || i == half)
            continue;
        switch (random() % 4) {
        case 0:
        case 1:
            world.late.insert(i);
            break;
        case 2:
            world.leaving.insert(i);
            break;
        }
    }
    return world;
}

RoundWorld serving_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.server = true;
    world.spares = false; // what a server answers spares nothing
    // What a restarted server must hear again has to be kept by the workers.
    const unsigned agreed = world.tree ? std::min(world.pool, world.second_pool) : world.pool;
    if (seed % 3 != 0) {
        world.under_way = 1;
        for (std::uint32_t &chunks : world.vectors)
            chunks = std::min(chunks, 1U << agreed);
    } else if (world.tree) {
        world.root_stays = true;
    } else {
        world.restarts = 0;
    }
    return world;
}

RoundWorld without_restarts(std::uint64_t seed) {
    RoundWorld world = changing_world(seed);
    world.restarts = world.resets = 0;
    return world;
}

RoundWorld tree_without_restarts(std::uint64_t seed) {
    RoundWorld world = changing_tree(seed);
    world.restarts = world.resets = 0;
    return world;
}

namespace {

RoundWorld restless(RoundWorld world) {
    world.pool %= 2;
    world.second_pool %= 2;
    world.loss = 0.2;
    world.restarts = world.seed % 3;
    world.resets = 4;
    world.disturbed = true;
    return world;
}

} // namespace

RoundWorld restless_world(std::uint64_t seed) {
    return restless(changing_world(seed));
}

RoundWorld restless_tree(std::uint64_t seed) {
    return restless(changing_tree(seed));
}

} // namespace olaf::model
