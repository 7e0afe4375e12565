// SPDX-License-Identifier: BSD-2-Clause
// The queue's kernel programs and maps, loaded and ready, attached to nothing. What
// `olaf attach` puts on a device, and what tests and benches run without one:
//
//     auto config = olaf::make_config({.queue_capacity = 8, .max_clusters = 9});
//     auto queue = olaf::Datapath::load(*config);
//     bpf_prog_test_run_opts(queue->ingress_fd(), ...);
//
// Needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN. Maps live as long as the Datapath, unless pinned.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config.hpp"
#include "olaf/queue.h"
#include "olaf/result.hpp"

struct bpf_object;

namespace olaf {

class Datapath {
  public:
    struct Options {
        /// Use the maps pinned there, state and all, instead of making new ones.
        std::optional<std::string> pinned_maps;
        /// The ingress program asks the driver of config.ifindex for VLAN tags that aren't among
        /// a frame's bytes. It then works natively on that device alone, and not in test runs.
        bool asks_driver = false;
    };

    /// Open, configure, size, load, share maps, seed new rules with the default policy.
    static Result<Datapath> load(const olaf_config &config, const Options &options);
    static Result<Datapath> load(const olaf_config &config) { return load(config, Options{}); }

    Datapath(Datapath &&) noexcept;
    Datapath &operator=(Datapath &&) noexcept;
    ~Datapath();

    [[nodiscard]] const olaf_config &config() const;
    [[nodiscard]] bool asks_driver() const; ///< as Options has it

    [[nodiscard]] int ingress_fd() const;     ///< XDP program of the device
    [[nodiscard]] int token_catch_fd() const; ///< TC program, clsact ingress of the device
    [[nodiscard]] int lane_drain_fd() const;  ///< TC program, clsact ingress of the lane's end
    [[nodiscard]] int lane_prove_fd() const;  ///< TC program, run by attach alone
    [[nodiscard]] int lane_kick_fd() const;   ///< TC program, clsact ingress of the lane's near end
    [[nodiscard]] int egress_fd() const;      ///< TC program, clsact egress of the device
    [[nodiscard]] int ack_return_fd() const;  ///< TC program, clsact ingress of UPSTREAM's device
    [[nodiscard]] int enrol_fd() const;       ///< run by `olaf cluster`

    /// Of a shared map ("olaf_slots"); -1 if there is none of that name.
    [[nodiscard]] int map_fd(std::string_view name) const;

    /// Pins every shared map as DIRECTORY/NAME, and programs as DIRECTORY/NAME.
    [[nodiscard]] Result<void> pin_maps(const std::string &directory) const;

    [[nodiscard]] bpf_object *ingress_object() const;
    [[nodiscard]] bpf_object *lane_object() const;
    [[nodiscard]] bpf_object *egress_object() const;

  private:
    struct Parts;
    explicit Datapath(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

/// Gives clusters first ... last one rule.
Result<void> write_rules(int rules_fd, std::uint32_t first, std::uint32_t last,
                         const olaf_rule &rule);

} // namespace olaf
