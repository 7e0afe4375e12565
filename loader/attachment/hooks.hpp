// SPDX-License-Identifier: BSD-2-Clause
// The hooks that the table of programs names: putting programs there, finding them again, swapping
// them for new ones, taking them away.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "olaf/rounds.h"

namespace olaf {

// Steps to take back, last first, unless all went well.

class Undo {
  public:
    Undo() = default;
    Undo(Undo &&) = delete;
    ~Undo() {
        while (!steps_.empty()) {
            auto step = std::move(steps_.back());
            steps_.pop_back();
            step();
        }
    }

    void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
    void dismiss() { steps_.clear(); }
    /// Takes over what another would have taken back.
    void adopt(Undo &other) {
        for (auto &step : other.steps_)
            steps_.push_back(std::move(step));
        other.steps_.clear();
    }

  private:
    std::vector<std::function<void()>> steps_;
};

/// The device whose hook a program of the table stands on; nothing: it has gone, or the queue has
/// none.
std::optional<Device> device_of(const Program &program, const PinPlace &place,
                                const Record &record);

/// The qdisc that filters are in.
struct Clsact {
    bool ours = false; ///< it came with the queue's filters
    /// The index is known to mean the same device still. Otherwise only a filter of the queue's that is
    /// found there shows that no other device has got the index meanwhile.
    bool same = false;
};

/// The queue's filters of one place, known by the name of the program and by its maps.
class Filters {
  public:
    explicit Filters(const PinPlace &place);

    /// Priority of the program's filter; 0: there is none.
    [[nodiscard]] std::uint32_t find(const Program &program, const Device &device) const;
    /// Takes all programs of that kind off the device, and the clsact that came with them. Goes on
    /// after a failure, and returns the first. A device that has gone took its filters along.
    [[nodiscard]] Result<void> remove(On on, std::uint32_t ifindex, Clsact clsact) const;
    /// Puts the queue's program there. Where one runs already, it is replaced in one step, and the
    /// undo brings the pinned one back. Otherwise a filter is added beside those of others.
    [[nodiscard]] Result<void> put(const Program &program, const Device &device,
                                   const Datapath &queue, Undo &undo) const;

  private:
    PinPlace place_;
    std::vector<std::uint32_t> maps_; ///< ids; none: no filter either, as it is made after them
};

/// For a hook where the queue has no filter yet.
Result<void> add(const Program &program, const Device &device, const Datapath &queue);

/// Names of programs that the table wants on hooks of a queue and that aren't there.
std::vector<std::string> missing_programs(const Attachment &attachment);

// Programs of the table on the way back (On::way_back): they turn ACKs from an upstream server round
// to the workers, at the device that the server is reached by, which may be the queue's own.

/// Puts it there if the queue delivers upstream; written in the record before each step.
Result<void> install_return(const RecordMap &map, Record &record, const Datapath &queue);

/// Takes it away, and the clsact that came with it; also what a killed --replace left elsewhere.
Result<void> remove_return(const PinPlace &place, const Record &record);

/// For --replace: swaps the program where the filter stays, or puts a filter where there will be
/// one. *record is the new one; a filter that it needs no more is left for leave_return().
Result<void> swap_return(const Attachment &attachment, const RecordMap &map, Record &record,
                         const Datapath &queue, Undo &undo);

/// After swap_return(), once *record is written: takes away what is on the device that was left.
Result<void> leave_return(const PinPlace &place, const RecordMap &map, Record &record);

// Programs of the table at the devices that jobs' parents are behind (On::parents), where that isn't
// the queue's own device. `olaf job set` puts them there, and the last job that needs them takes them
// away. The jobs themselves say where they are: so nothing is forgotten by a command that is killed.

/// Whether a clsact there would come with the filter that a job of this queue needs on the device.
Result<bool> clsact_would_be_ours(const PinPlace &place, std::uint32_t ifindex);

/// Puts the programs on the device that the parent of a job, which is set, is behind, if they aren't
/// there for another one.
Result<void> watch_parent(const PinPlace &place, std::uint32_t job_index,
                          const olaf_job_setup &setup);

/// Takes them away for a job that is about to be removed, unless another needs them.
Result<void> leave_parent(const PinPlace &place, std::uint32_t job_index);

/// The same for all jobs, before their maps go.
Result<void> leave_parents(const PinPlace &place);

/// For --replace: swaps the programs where they are. Filters that somebody took away come back.
Result<void> swap_at_parents(const PinPlace &place, const Datapath &queue, Undo &undo);

// The step of --replace that puts new programs where old ones run.

/// In the order of the table (programs.hpp), from the end of the path to its start: so a frame never
/// meets a program that hands on what the next one doesn't know. First all that run by TC, then the
/// XDP program. Each step is taken back if a later one fails.
Result<void> swap_filters(const Attachment &running, const Datapath &queue, Undo &undo);
Result<void> swap_entrance(const Attachment &running, const Datapath &queue, Undo &undo);

} // namespace olaf
