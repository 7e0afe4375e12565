// SPDX-License-Identifier: BSD-2-Clause
// Virtual CPUs over one memory. Between two contended accesses a CPU runs alone; before each of them
// the search may let another one go first.
//
// A word is contended once two CPUs were seen to access it, one of them writing, without an order
// between them. That is found out on the way: the search begins anew when there is one more. What
// isn't contended is ordered by what is, so no schedule is missed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "history.hpp"
#include "memory.hpp"
#include "search.hpp"

namespace olaf::interleave {

/// What must hold of a word.
struct WordRule {
    static constexpr std::uint32_t none = ~0u;
    std::uint32_t lock = none; ///< plain writes are made under this lock, a word
    bool is_lock = false;
    bool is_private = false;  ///< one CPU's own
    bool no_conflict = false; ///< whoever reads or writes it plainly is ordered with every writer
};

/// Who looks on while programs run: what must hold of the queue.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void begins() = 0;
    virtual void writes(unsigned cpu, std::uint32_t word, Access access) = 0;
    virtual void released(unsigned cpu, std::uint32_t lock) = 0;
};

enum class Ending { complete, known_before, violated };

class Machine {
  public:
    static Machine &the() { return machine; }

    Memory memory;

    void rule(std::vector<WordRule> rules, Observer *observer);
    /// From here on, until the next call, runs are of these CPUs.
    void employ(const std::vector<std::function<void()>> &cpus);
    /// Runs the search's next schedule from where the memory stands.
    Ending run(Search &search);
    /// Did that run find a word contended that wasn't? Then the search must begin anew.
    [[nodiscard]] bool learnt() const { return learnt_; }

    /// Which CPU runs; outside of a run, 0.
    [[nodiscard]] unsigned cpu() const { return current_ < 0 ? 0 : static_cast<unsigned>(current_); }
    [[nodiscard]] bool running() const { return current_ >= 0; }
    /// Does the running CPU hold this lock?
    [[nodiscard]] bool holds(std::uint32_t lock) const { return holder_[lock] == current_; }
    /// Before an access to anything.
    void access(const void *address, std::size_t bytes, Access access);
    /// A word was exchanged: was it set before, and is it now?
    void exchanged(const void *address, bool before, bool after);
    /// Repeats a look until it says that it has seen what it waits for. Others run meanwhile.
    /// With `idle` a run may end while it waits.
    void await(const std::function<bool()> &look, bool idle = false);
    /// Something that must hold doesn't. Ends the run; outside of one throws.
    void fail(const std::string &what);
    void require(bool holds, const char *what) {
        if (!holds)
            fail(what);
    }
    [[nodiscard]] const std::string &violation() const { return violation_; }
    /// Who did what to contended words in the run, one line an access.
    [[nodiscard]] std::string story() const;

  private:
    static Machine machine;

    struct Cpu {
        std::unique_ptr<Fiber> fiber;
        bool waits = false, idle = false, looks = false, woken = false;
        std::vector<std::uint32_t> watched;
    };
    struct Step {
        unsigned cpu;
        std::uint32_t word;
        Access access;
    };
    [[nodiscard]] unsigned able() const;
    [[nodiscard]] bool goes_on() const;
    int pick(Search &search);
    void may_switch();
    void leave();
    void observe(std::uint32_t word, Access access);
    void wake(std::uint32_t word);
    void let_go(std::uint32_t lock);

    History history_;
    Search *search_ = nullptr;
    Observer *observer_ = nullptr;
    std::vector<WordRule> rules_;
    std::vector<int> holder_;          // of each lock
    std::vector<std::uint32_t> taken_; // locks, in this run
    std::vector<bool> contended_;
    std::vector<Cpu> cpus_;
    std::vector<Step> steps_; // contended ones of this run
    int current_ = nobody, next_ = nobody;
    bool learnt_ = false;
    Ending ending_ = Ending::complete;
    std::string violation_;
};

} // namespace olaf::interleave
