# SPDX-License-Identifier: BSD-2-Clause
"""Seeds faults into copies of the RTL, one each, that its proofs must not survive.

    proof_mutants.py PROVE REGISTERS RTL      hardware/prove, olaf_registers.sv, the folder with the RTL

A line for each. One whose text isn't there, or is there twice, ends with an error, as does one that a proof survives.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Proof, file, what is there, what a fault makes of it, and what that is.
FAULTS = [
    ("stream", "olaf_out", "if (moves) out <= chosen;", "out <= chosen;", "a beat that waits is changed"),
    ("returned", "olaf_back", "if (moves) m_tvalid <= beat_take;", "m_tvalid <= beat_take;", "a beat that waits is withdrawn"),
    ("registers", "olaf_card", "bvalid <= writes || (bvalid && !bready);", "bvalid <= writes;", "an answer is withdrawn"),
    ("registers", "olaf_card", "if (fits) cfg <= asked;", "cfg <= asked;", "a commit beyond the capabilities is taken"),
    ("decided", "olaf_decide", "ring_length >= cfg.queue_capacity", "ring_length > cfg.queue_capacity", "one more than Qmax waits"),
    ("decided", "olaf_judge", "folded.count = {15'd0, count};", "folded.count = {16'd0, count[15:0]} + 32'd1;", "a fold counts one update too many"),
    ("order", "olaf_slots", "state == olaf::BUFFER_OPEN && !pops_me", "state == olaf::BUFFER_OPEN", "a popped head is folded into"),
    ("order", "olaf_slots", "(look ? used : still_used) & ~freed", "(look ? used : '0) & ~freed", "a third buffer of a slot is opened"),
    ("order", "olaf_ring", "assign head = places[first];", "assign head = places[behind_last - 1'b1];", "the newest leaves first"),
    ("moved", "olaf_move", "over <= {over[0], command_take};", "over <= {command_take, command_take};", "a command counts as done too early"),
    ("moved", "olaf_move", "beats > {6'd0, ahead} && block < blocks", "beats > {6'd0, ahead}", "lanes are written behind their buffer's own"),
    ("locked", "olaf_depart", "next_valid && passed[2]", "next_valid", "a departure doesn't wait for folds"),
    ("counted", "olaf_counters", "counts_dropped ? held_count : 32'd0", "32'd0", "what is dropped isn't counted"),
]


def survives(prove, registers, rtl, fault, work):
    proof, room, there, instead, _ = fault
    path = work / f"{room}.sv"
    text = (rtl / path.name).read_text()
    if text.count(there) != 1:
        raise SystemExit(f"proof_mutants.py: {path.name} has {text.count(there)} of: {there}")
    path.write_text(text.replace(there, instead))
    done = subprocess.run([prove, registers, "2", work, proof], capture_output=True, text=True, check=False)
    shutil.copy(rtl / path.name, path)
    if "DOES NOT HOLD" not in done.stdout and done.returncode != 0:
        raise SystemExit(f"proof_mutants.py: {proof}: {done.stdout}{done.stderr}")
    return done.returncode == 0


def main():
    prove, registers, rtl = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for path in rtl.glob("*.sv"):
            shutil.copy(path, work)
        for fault in FAULTS:
            held = survives(prove, registers, rtl, fault, work)
            survived += held
            print(f"{fault[0]:10} {'SURVIVED' if held else 'fails'}: {fault[4]}", flush=True)
    return survived != 0


if __name__ == "__main__":
    sys.exit(main())
