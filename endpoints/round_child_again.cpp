// SPDX-License-Identifier: BSD-2-Clause
#include "round_child.hpp"

namespace olaf {

// Answered meanwhile, or sent again.
bool RoundChild::is_void(Position position, unsigned sendings) const {
    return kept_.is_held(position) || kept_[position].sendings != sendings;
}

void RoundChild::forget_answered() {
    while (!due_.empty() && is_void(due_.top().position, due_.top().sendings))
        due_.pop();
    while (!lost_.empty() && is_void(lost_.begin()->first, lost_.begin()->second))
        lost_.erase(lost_.begin());
}

// What is sent later is answered later. So where nothing later was answered, the node or another
// member is late. If something comes then, but not this one, it was lost after all.
bool RoundChild::is_known_lost(const DueChunk &due) const {
    return due.position < newest_ || (due.put_off > Time(0) && due.put_off < last_heard_);
}

// While nobody knows whether what is overdue was lost, one repetition asks for all: that of the
// oldest.
void RoundChild::find_lost(Time now) {
    for (forget_answered(); !due_.empty() && due_.top().at <= now; forget_answered()) {
        const DueChunk due = due_.top();
        const bool is_known = is_known_lost(due);
        if (!is_known && due.position != oldest_) {
            due_.put_off(now, now + timeout_.after(due.sendings));
            continue;
        }
        due_.pop();
        land(kept_[due.position]);
        lost_.emplace(due.position, due.sendings);
        if (is_known)
            congestion_.lost(due.position, next_);
    }
}

// It is under way no more.
void RoundChild::land(KeptChunk &kept) {
    flying_ -= kept.flying ? 1 : 0;
    kept.flying = false;
}

// The oldest needs no room: everybody may be waiting for it.
bool RoundChild::may_send_again() const {
    return !lost_.empty() && (lost_.begin()->first == oldest_ || flying_ < congestion_.size());
}

std::optional<RoundChild::Sending> RoundChild::send_again(Time now) {
    find_lost(now);
    if (!may_send_again())
        return {};
    const Position position = lost_.begin()->first;
    lost_.erase(lost_.begin());
    forget_answered();
    const bool last = !may_send_again() && !may_send_next();
    return contribution(position, now, last);
}

} // namespace olaf
