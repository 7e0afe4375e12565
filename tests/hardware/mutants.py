# SPDX-License-Identifier: BSD-2-Clause
"""Seeds faults into a copy of the RTL, each of which the tests must find.

    mutants.py seed RTL... OUT      writes the copies into the folder OUT
    mutants.py run PROGRAM          runs PROGRAM, the tests on that copy, once for each fault

All faults are in one copy: `+fault=N` chooses the Nth, and 0 none. One whose text isn't there, or is there twice,
ends with an error: the RTL has moved on, and the fault must follow.
"""
import pathlib
import re
import subprocess
import sys

# File, what is there, what a fault makes of it, and what that is.
MUTANTS = [
    ("olaf_slots", "state == olaf::BUFFER_FREE || freed[g]", "state == olaf::BUFFER_FREE",
     "a look doesn't see the buffer that is freed in its cycle"),
    ("olaf_slots", "state == olaf::BUFFER_OPEN && !pops_me", "state == olaf::BUFFER_OPEN",
     "a head that is popped in the cycle of a look is folded into"),
    ("olaf_slots", "(look ? used : still_used) & ~freed", "(look ? used : still_used)",
     "a buffer that is freed while a decision takes its time counts as used"),
    ("olaf_decide", "ring_length >= cfg.queue_capacity", "ring_length > cfg.queue_capacity",
     "one more than Qmax waits"),
    ("olaf_decide", "!head.enabled || head.kind != olaf::KIND_UPDATE", "!cfg.enable || head.kind != olaf::KIND_UPDATE",
     "a verdict of before a commit is decided as if it were of after it"),
    ("olaf_queue", "undecided == 5'd0", "1'b1", "it is empty while an update that it admitted is undecided"),
    ("olaf_decide", "opens && folds && hit", "1'b0", "the full entry isn't sealed"),
    ("olaf_judge", "count > {1'b0, rule.max_count}", "count >= {1'b0, rule.max_count}",
     "an entry is sealed one update too early"),
    ("olaf_judge", "waiting.generated > arriving.generated", "waiting.generated < arriving.generated",
     "the older time is kept"),
    ("olaf_reward", "wide_difference > wide_margin", "wide_difference >= wide_margin",
     "a reward at the threshold replaces"),
    ("olaf_pacer", "now > {32'd0, interval} ? now - {32'd0, interval} : 64'd0", "now", "an idle link saves no credit"),
    ("olaf_pacer", "now >= busy && now >= idle", "now >= idle", "a departure is due again while its link is busy"),
    ("olaf_pacer", "{2'd0, took} <= interval", "1'b0", "an idle link saves credit for a frame alone"),
    ("olaf_counters", "enters ? held_count : 32'd0", "32'd0", "what comes to wait isn't counted as waiting"),
    ("olaf_verdict", "second_whole && ip_wrong", "1'b0", "an IPv4 header's checksum isn't looked at"),
    ("olaf_depart", "next_valid && passed[2]", "next_valid",
     "a departure doesn't wait for the folds that were decided before it"),
    ("olaf_depart", "{passed[1:0], passed[0] || !behind[7]}", "{passed[1:0], !behind[7]}",
     "a departure that waited for long on a blocked output doesn't leave"),
    ("olaf_lane_sums", "begins[1] ? 32'd0 : sums[seg_summed[INDEX-1:0]]", "sums[seg_summed[INDEX-1:0]]",
     "lanes of a buffer's last update count in a departure's checksum"),
    ("olaf_move", "16'(i / 8) >= left", "1'b0", "bytes behind the last lane count in a departure's checksum"),
    ("olaf_depart", "folded == 16'hffff", "1'b0", "a departure whose sum is 0 seems to have no checksum"),
    ("olaf_move", "command_take && stores && beats >= {6'd0, ahead} && behind < blocks", "1'b0",
     "a last block that ends with its frame is lost"),
    ("olaf_sum", "held_beat == 2'd0 || 17'(2 * w) < held_end", "1'b1",
     "bytes behind the message count in its checksum"),
    ("olaf_verdict", "room != udp_bytes", "1'b0", "an IP packet that goes on behind the message is taken"),
    ("olaf_stamp", "our_fill > their_fill", "our_fill >= their_fill", "an equally full queue's stamp is overwritten"),
    ("olaf_active", "turns ? in_current : in_current + in_previous", "in_current",
     "clusters of the epoch before aren't active"),
    ("olaf_out", "begun ? its_b : its_b ? !a_valid : b_valid", "its_b ? !a_valid : b_valid",
     "a frame is cut by one of the other source"),
    ("olaf_counters", "sum + {32'd0, more}", "{sum[63:32], sum[31:0] + more}", "a counter has no high word"),
    ("olaf_slot_counters", "old[64*i+:64] + {32'd0, more[32*i+:32]}",
     "{old[64*i+32+:32], old[64*i+:32] + more[32*i+:32]}", "a slot's counter has no high word"),
    ("olaf_pacer", "next + {34'd0, took}", "{next[63:32], next[31:0] + {2'd0, took}}",
     "a busy link's time doesn't reach into the high word"),
    ("olaf_active", "turns_at + {24'd0, window}", "{turns_at[63:32], turns_at[31:0] + window[31:0]}",
     "an epoch's end doesn't reach into the high word"),
    ("olaf_store", "ADDRESS'(read_seg) * ADDRESS'(BLOCKS) + ADDRESS'(read_block)",
     "ADDRESS'(read_seg) * ADDRESS'(BLOCKS) + ADDRESS'(write_block)", "a block is folded into what another one holds"),
    ("olaf_store", "ADDRESS'(write_seg) * ADDRESS'(BLOCKS) + ADDRESS'(write_block)",
     "ADDRESS'(write_seg) * ADDRESS'(BLOCKS - 1) + ADDRESS'(write_block)", "buffers share a block of lanes"),
]
CHOICE = """  integer fault;
  initial if (!$value$plusargs("fault=%d", fault)) fault = 0;
"""


def seed(paths, out):
    out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        text, mutated = path.read_text(), False
        for number, (room, there, fault, _) in enumerate(MUTANTS, 1):
            if path.stem != room:
                continue
            if text.count(there) != 1:
                raise SystemExit(f"mutants.py: fault {number}: {path} has {text.count(there)} of: {there}")
            text = text.replace(there, f"(fault == {number} ? ({fault}) : ({there}))")
            mutated = True
        if mutated:
            text = re.sub(r"^\);\n", ");\n" + CHOICE, text, count=1, flags=re.MULTILINE)
        (out / path.name).write_text(text)


def run(program):
    missed = []
    for number in range(len(MUTANTS) + 1):
        done = subprocess.run([program, str(number), "--gtest_fail_fast", "--gtest_brief=1"],
                              capture_output=True, text=True, timeout=120, check=False)
        what = MUTANTS[number - 1][3] if number else "no fault"
        found = done.returncode != 0
        print(f"{number:3} {'found' if found else 'not found'}: {what}")
        if found == (number == 0):
            missed.append(number)
            print(done.stdout[-2000:])
    return bool(missed)


def main():
    if sys.argv[1] == "seed":
        seed([pathlib.Path(name) for name in sys.argv[2:-1]], pathlib.Path(sys.argv[-1]))
        return 0
    return run(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
