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

/// The device on whose hook a program of the table stands. Nothing where the device has gone, or where
/// the queue has no such device.
std::optional<Device> device_of(const Program &program, const PinPlace &place,
                                const Record &record);

/// The qdisc clsact that holds the queue's filters of a device.
struct Clsact {
    bool ours = false; ///< the queue added the clsact
    /// The device's index surely means the same device still. Where that isn't known, only a filter of
    /// the queue proves that no other device has got the index meanwhile.
    bool same = false;
};

/// The TC filters of the queue that is pinned at a place. A filter is the queue's if its program has a
/// name of the table and uses the queue's maps.
class Filters {
  public:
    explicit Filters(const PinPlace &place);

    /// Priority of the program's filter; 0: there is none.
    [[nodiscard]] std::uint32_t find(const Program &program, const Device &device) const;
    /// Removes the programs of one kind from a device, then the clsact that the queue added. Goes on
    /// after a failure, and returns the first error. Does nothing where the device has gone.
    [[nodiscard]] Result<void> remove(On on, std::uint32_t ifindex, Clsact clsact) const;
    /// Puts a program of the queue on the device. Replaces the filter's program in one step, and the
    /// undo restores the pinned program. Adds a filter where the queue has none yet.
    [[nodiscard]] Result<void> put(const Program &program, const Device &device,
                                   const Datapath &queue, Undo &undo) const;

  private:
    PinPlace place_;
    std::vector<std::uint32_t> maps_; ///< ids of the queue's maps; empty: no filter was made yet
};

/// Adds a program of the queue to a hook where the queue has no filter yet.
Result<void> add(const Program &program, const Device &device, const Datapath &queue);

/// Names of programs that the table wants on the queue's hooks and that aren't there.
std::vector<std::string> missing_programs(const Attachment &attachment);

// Programs on the way back (On::way_back). They return ACKs of an upstream server to the workers, and
// stand on the device by which the server is reached. That may be the queue's own device.

/// Puts them there if the queue delivers upstream. Writes each step in the record before taking it.
Result<void> install_return(const RecordMap &map, Record &record, const Datapath &queue);

/// Removes them and the clsact that the queue added, also from a device that a killed --replace left.
Result<void> remove_return(const PinPlace &place, const Record &record);

/// For --replace: swaps the programs where the filters stay, or adds filters to another device.
/// *record is the new record. Filters of the old device are left for leave_return().
Result<void> swap_return(const Attachment &running, const RecordMap &map, Record &record,
                         const Datapath &queue, Undo &undo);

/// After swap_return(), once *record is written: removes the filters of the old device.
Result<void> leave_return(const PinPlace &place, const RecordMap &map, Record &record);

// Programs on the devices behind which jobs have their parents (On::parents), where that isn't the
// queue's own device. `olaf job set` adds them, and removing the last job that needs them removes them.
// The jobs' maps tell the devices, so a killed command forgets nothing.

/// Whether the queue would have to add the clsact to the device for a job's filter.
Result<bool> clsact_would_be_ours(const PinPlace &place, std::uint32_t ifindex);

/// Adds the programs to the device behind which a job has its parent. The job is set already. Does
/// nothing where another job has added them.
Result<void> watch_parent(const PinPlace &place, std::uint32_t job_index,
                          const olaf_job_setup &setup);

/// Removes the programs for a job that is about to be removed, unless another job needs them.
Result<void> leave_parent(const PinPlace &place, std::uint32_t job_index);

/// The same for all jobs, before their maps go.
Result<void> leave_parents(const PinPlace &place, const Record &record);

/// For --replace: swaps the programs, and adds filters that another process removed.
Result<void> swap_at_parents(const PinPlace &place, const Datapath &queue, Undo &undo);

// --replace puts new programs where old ones run, from the end of a frame's path to its start: first the
// TC programs, then the XDP program. So no program hands a frame to one that doesn't know it. The undo
// takes each step back if a later one fails.

Result<void> swap_filters(const Attachment &running, const Datapath &queue, Undo &undo);
Result<void> swap_entrance(const Attachment &running, const Datapath &queue, Undo &undo);

} // namespace olaf
