// SPDX-License-Identifier: BSD-2-Clause
#include "machine.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace olaf::interleave {

Machine Machine::machine;

void Machine::rule(std::vector<WordRule> rules, Observer *observer) {
    rules_ = std::move(rules);
    observer_ = observer;
    history_.begin(memory.words());
    contended_.assign(memory.words(), false);
    holder_.assign(memory.words(), nobody);
}

void Machine::employ(const std::vector<std::function<void()>> &cpus) {
    cpus_.clear();
    for (const auto &body : cpus)
        cpus_.push_back({std::make_unique<Fiber>(body), false, false, false, false, {}});
}

unsigned Machine::able() const {
    unsigned result = 0;
    for (std::size_t i = 0; i < cpus_.size(); i++)
        if (!cpus_[i].waits && !cpus_[i].fiber->finished())
            result |= 1u << i;
    return result;
}

bool Machine::goes_on() const { return current_ >= 0 && (able() >> current_ & 1) != 0; }

int Machine::pick(Search &search) {
    const int current = goes_on() ? current_ : nobody;
    const std::uint64_t place = std::uint64_t{able()} * 16 + static_cast<unsigned>(current + 1);
    const int next = search.choose(able(), current, history_.fingerprint() * 31 + place);
    if (next == nobody)
        ending_ = Ending::known_before;
    return next;
}

Ending Machine::run(Search &search) {
    search_ = &search;
    history_.begin_run();
    observer_->begins();
    steps_.clear();
    learnt_ = false;
    violation_.clear();
    ending_ = Ending::complete;
    for (const auto lock : taken_)
        holder_[lock] = nobody;
    taken_.clear();
    for (auto &cpu : cpus_) {
        cpu.fiber->restart();
        cpu.waits = cpu.idle = cpu.looks = cpu.woken = false;
    }
    current_ = nobody;
    next_ = pick(search);
    while (next_ != nobody) {
        current_ = std::exchange(next_, nobody);
        cpus_[static_cast<std::size_t>(current_)].fiber->resume();
        if (ending_ == Ending::complete && next_ == nobody && able() != 0)
            next_ = pick(search);
    }
    if (ending_ == Ending::complete &&
        std::ranges::any_of(cpus_, [](const Cpu &c) { return c.waits && !c.idle; })) {
        ending_ = Ending::violated;
        violation_ = "a CPU waits for a lock that nobody gives back" + story();
    }
    current_ = nobody;
    return ending_;
}

/// Gives way to the scheduler, never to come back if the run is over.
void Machine::leave() { cpus_[cpu()].fiber->yield(); }

void Machine::may_switch() {
    const int next = pick(*search_);
    if (next == current_)
        return;
    next_ = next;
    leave();
}

void Machine::access(const void *address, std::size_t bytes, Access access) {
    if (running() && cpus_[cpu()].fiber->owns(address))
        return;
    if (!memory.holds(address)) {
        if (access.writes && running() && !access.plain)
            memory.remember(const_cast<void *>(address), bytes);
        return;
    }
    if (!running()) {
        if (access.writes)
            memory.remember(const_cast<void *>(address), bytes);
        return;
    }
    const std::uint32_t from = memory.word_of(address);
    if (rules_[from].is_private) {
        if (access.writes)
            memory.remember(const_cast<void *>(address), bytes);
        return;
    }
    const std::uint32_t to = memory.word_of(static_cast<const char *>(address) + bytes - 1);
    bool contended = false;
    for (std::uint32_t word = from; word <= to; word++)
        contended = contended || contended_[word];
    if (contended)
        may_switch();
    for (std::uint32_t word = from; word <= to; word++)
        observe(word, access);
    if (access.writes)
        memory.remember(const_cast<void *>(address), bytes);
}

void Machine::observe(std::uint32_t word, Access access) {
    const WordRule &rule = rules_[word];
    const bool contended = contended_[word];
    const Conflict conflict = history_.record(cpu(), word, access, contended);
    if (contended)
        steps_.push_back({cpu(), word, access});
    if (conflict.found) {
        if (!contended)
            contended_[word] = learnt_ = true;
        if (rule.no_conflict || conflict.plain_writes)
            fail(memory.name_of(word) + " is " + (access.writes ? "written" : "read") + " by CPU " +
                 std::to_string(cpu()) + " while CPU " + std::to_string(conflict.other) +
                 " accesses it: nothing orders them");
    }
    if (access.writes) {
        if (access.plain && rule.lock != WordRule::none && holder_[rule.lock] != current_)
            fail(memory.name_of(word) + " is written without " + memory.name_of(rule.lock));
        if (rule.is_lock && !access.reads)
            let_go(word);
        observer_->writes(cpu(), word, access);
        wake(word);
    }
    if (cpus_[cpu()].looks && access.reads)
        cpus_[cpu()].watched.push_back(word);
}

void Machine::exchanged(const void *address, bool before, bool after) {
    if (!running() || !memory.holds(address))
        return;
    const std::uint32_t word = memory.word_of(address);
    if (!rules_[word].is_lock)
        return;
    if (!after)
        let_go(word);
    else if (!before) {
        holder_[word] = current_;
        taken_.push_back(word);
    }
}

void Machine::let_go(std::uint32_t lock) {
    if (holder_[lock] != current_)
        fail(memory.name_of(lock) + " is given back by a CPU that doesn't hold it");
    observer_->released(cpu(), lock);
    holder_[lock] = nobody;
}

void Machine::wake(std::uint32_t word) {
    for (std::size_t i = 0; i < cpus_.size(); i++) {
        Cpu &other = cpus_[i];
        if (static_cast<int>(i) == current_ || (!other.waits && !other.looks) ||
            std::ranges::find(other.watched, word) == other.watched.end())
            continue;
        other.waits = false;
        other.woken = true;
    }
}

void Machine::await(const std::function<bool()> &look, bool idle) {
    if (!running()) {
        require(look(), "at rest, what was looked for isn't there: a lock is held");
        return;
    }
    Cpu &self = cpus_[cpu()];
    self.idle = idle;
    for (;;) {
        self.watched.clear();
        self.woken = false;
        self.looks = true;
        const bool seen = look();
        self.looks = false;
        if (seen)
            return;
        self.waits = !self.woken;
        if (self.waits)
            leave();
    }
}

void Machine::fail(const std::string &what) {
    if (!running())
        throw std::runtime_error(what);
    ending_ = Ending::violated;
    violation_ = what + story();
    next_ = nobody;
    leave();
}

std::string Machine::story() const {
    std::ostringstream out;
    for (const auto &step : steps_)
        out << "\n  CPU " << step.cpu << (step.access.plain ? " plainly" : "")
            << (step.access.reads ? " reads" : "") << (step.access.writes ? " writes " : " ")
            << memory.name_of(step.word);
    return out.str();
}

} // namespace olaf::interleave
