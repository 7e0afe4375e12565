// SPDX-License-Identifier: BSD-2-Clause
// The hooks of a queue's devices that the table of programs names: putting programs there,
// finding them again, taking them away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/device.hpp"
#include "record.hpp"
#include "undo.hpp"

namespace olaf {

/// The device whose hook a program of the table stands on; nothing: it has gone, or the queue has
/// none.
std::optional<Device> device_of(const Program &program, const PinPlace &place,
                                const Record &record);

/// The queue's filters of one place, known by the name of the program and by its maps.
class Filters {
  public:
    explicit Filters(const PinPlace &place);

    /// Priority of the program's filter; 0: there is none.
    [[nodiscard]] std::uint32_t find(const Program &program, const Device &device) const;
    /// Takes it away; false if there is none.
    [[nodiscard]] Result<bool> remove(const Program &program, const Device &device) const;
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

} // namespace olaf
