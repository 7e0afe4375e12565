// SPDX-License-Identifier: BSD-2-Clause
// The queue's kernel programs and maps, loaded and ready, attached to nothing. What
// `olaf attach` puts on a device, and what tests and benches run without one:
//
//     auto config = olaf::make_config({.queue_capacity = 8, .max_clusters = 9});
//     auto queue = olaf::Datapath::load(*config);
//     bpf_prog_test_run_opts(queue->program_fd("olaf_ingress"), ...);
//
// Needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN. Maps live as long as the Datapath, unless pinned.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config.hpp"
#include "object.hpp"
#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

class Datapath {
  public:
    struct Options {
        /// Use the maps pinned there, state and all, instead of making new ones.
        std::optional<std::string> pinned_maps;
        /// The ingress program asks the driver of config.ifindex for VLAN tags that aren't among
        /// a frame's bytes. It then works natively on that device alone, and not in test runs.
        /// Where it can't safely be loaded, the one that doesn't ask is: see why_silent().
        bool asks_driver = false;
        /// Jobs of floats can be summed. Their program takes longest to load of all.
        bool floats = true;
    };

    /// Open, configure, size, load, share maps, seed new rules with the default policy.
    static Result<Datapath> load(const olaf_config &config, const Options &options);
    static Result<Datapath> load(const olaf_config &config) { return load(config, Options{}); }

    Datapath(Datapath &&) noexcept;
    Datapath &operator=(Datapath &&) noexcept;
    ~Datapath();

    [[nodiscard]] const olaf_config &config() const;
    [[nodiscard]] bool asks_driver() const; ///< as Options has it, where that is possible
    /// Why it doesn't ask although Options has it: "net.core.bpf_jit_harden is 2"; else empty.
    [[nodiscard]] const std::string &why_silent() const;

    /// What the kernel made of the ingress program.
    [[nodiscard]] Growth entrance_growth() const;

    /// Of a program of the table (programs.hpp): "olaf_ingress"; -1 if it isn't loaded.
    [[nodiscard]] int program_fd(std::string_view name) const;

    /// Of a shared map ("olaf_slots"); -1 if there is none of that name.
    [[nodiscard]] int map_fd(std::string_view name) const;

    /// From now on the entrance's tail calls go to this datapath's programs. load() does it where
    /// it made the maps. The kernel clears the map olaf_rooms once the map is neither open nor
    /// pinned.
    [[nodiscard]] Result<void> set_tail_calls() const;

    /// Pins every shared map as DIRECTORY/NAME.
    [[nodiscard]] Result<void> pin_maps(const std::string &directory) const;

  private:
    struct Parts;
    explicit Datapath(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

/// Gives clusters first ... last one rule.
Result<void> write_rules(int fd, std::uint32_t first, std::uint32_t last, const olaf_rule &rule);

} // namespace olaf
