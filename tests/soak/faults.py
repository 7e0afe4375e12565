# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong on a network. Each fault is drawn from the seed and taken back by itself.

A fault is a function of (bed, draw, options) that says in a line what it did. What it may do is
decided by the bed that stands: `faults_for`. A quiet one runs while nothing is sent: what it loses
is beyond the queue's host, so nobody on it could count that.
"""
import os
import signal
import subprocess
import time

from bed import SERVER_MAC, text
from network import run


def _nap(draw, longest=0.4):
    time.sleep(draw.uniform(0, longest))


def nothing(bed, draw, _options):
    """The queue alone, under load."""
    _nap(draw, 1)
    return "nothing"


def _flaps(draw, netns, device, most, restore=lambda: None):
    times = draw.randint(1, most)
    for _ in range(times):
        netns.ip(f"link set {device} down")
        _nap(draw)
        netns.ip(f"link set {device} up")
        restore()
        _nap(draw)
    return f"{device} of {netns.name} went down {times} times"


def _killed(bed, draw, words, longest, how=signal.SIGKILL):
    process = subprocess.Popen(bed.command(*words), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(draw.uniform(0, longest))
    process.send_signal(how)
    process.wait()
    return f"olaf {' '.join(words)} got {how.name}"


def output_flaps(bed, draw, _options):
    return _flaps(draw, bed.host, "out", 6, bed.address)


def server_goes(bed, draw, _options):
    """Quiet: frames in the ring of the server's device go with it."""
    bed.far.ip("link set eth0 down")
    return "the server's link went down", lambda: (bed.far.ip("link set eth0 up"), bed.address())


def peer_takes_no_redirects(bed, draw, _options):
    """Quiet, like the one before."""
    bed.far.offloads("eth0", gro=False)
    return "the server's device lost its NAPI", lambda: bed.far.offloads("eth0", gro=True)


def output_mtu(bed, draw, _options):
    mtu = draw.choice((68 if bed.family == 4 else 1280, 1280, 1400, 9000))
    bed.host.ip(f"link set out mtu {mtu}")
    _nap(draw)
    bed.host.ip("link set out mtu 1500")
    bed.address()
    return f"out had an MTU of {mtu}"


def neighbour_vanishes(bed, draw, _options):
    times = draw.randint(1, 8)
    for _ in range(times):
        bed.host.ip("neighbour flush dev out\nneighbour flush dev in")
        _nap(draw)
    return f"neighbours vanished {times} times"


def neighbour_fails(bed, draw, _options):
    """A wrong neighbour entry would be a lie; one that never answers is an outage."""
    bed.host.ip(f"neighbour replace {bed.server_address()} dev out nud failed")
    _nap(draw, 1)
    bed.host.ip(f"neighbour del {bed.server_address()} dev out", check=False)
    return "the server's neighbour entry failed"


def server_changes_mac(bed, draw, _options):
    mac = text(SERVER_MAC[:5] + bytes([draw.randrange(32, 250)]))
    bed.far.ip(f"link set eth0 address {mac}")
    return f"the server's MAC address is now {mac}"


def route_goes(bed, draw, _options):
    net = bed.far_net.format(0 if bed.family == 4 else "")
    bed.host.ip(f"route del {net}/{bed.bits} dev out", check=False)
    _nap(draw, 1)
    bed.host.ip(f"route replace {net}/{bed.bits} dev out")
    return "the route went for a while"


def output_is_full(bed, draw, _options):
    kind = draw.choice(("tbf rate 400kbit burst 3000 limit 3000", "pfifo limit 2", "pfifo_head_drop limit 2"))
    queue = ["tc", "-n", bed.host.name, "qdisc"]
    run([*queue, "replace", "dev", "out", "root", *kind.split()])
    _nap(draw, 1)
    run([*queue, "del", "dev", "out", "root"])
    return f"out had a queueing discipline: {kind}"


def input_flaps(bed, draw, _options):
    """Down, the host's device loses what the kernel holds of it: updates of ours among them."""
    return _flaps(draw, bed.worker, "eth0", 4, bed.address)


def drain_flaps(bed, draw, _options):
    return _flaps(draw, bed.host, bed.status()["drain"]["device"], 4)


def replaced(bed, draw, options):
    times = draw.randint(1, 3)
    for _ in range(times):
        more = draw.choice(([], ["--rate", draw.choice(("2mbit", "20mbit", "unlimited"))],
                            ["--policy", draw.choice(("olaf", "newest", "aggregate"))]))
        bed.olaf("attach", "in", "--replace", *more)
    return f"the programs were replaced {times} times"


def command_is_killed(bed, draw, options):
    """A command that only changes rules or programs changes nothing for good when it is killed."""
    words = draw.choice((["attach", "in", "--replace"], ["status", "in", "--json"],
                         ["attach", "in", "--replace", "--rate", "5mbit"],
                         ["cluster", "set", "in", "0-7", "--max-count", "256"],
                         ["cluster", "list", "in"], ["trace", "in"], ["detach", "in"]))
    if words[0] == "detach":  # while updates come it has enough to do
        words = ["attach", "in", "--replace", "--drain-interval", "1ms"]
    how = draw.choice((signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
    return _killed(bed, draw, words, 0.3, how)


def _detached(bed, options):
    done = bed.olaf("detach", "in", "--force", check=False)
    if done.returncode != 0 and "none is attached" not in done.stderr:  # it may be gone already
        raise RuntimeError(f"detach --force: {done.stderr.strip()}")
    bed.attach(options)


def detach_is_killed(bed, draw, options):
    told = _killed(bed, draw, ["detach", "in"], 0.3)
    _detached(bed, options)
    return told


def attached_anew(bed, draw, options):
    times = draw.randint(1, 3)
    for _ in range(times):
        _detached(bed, options)
    return f"detached and attached {times} times"


def drain_is_deleted(bed, draw, options):
    bed.host.ip(f"link del {bed.status()['drain']['device']}")
    _nap(draw)
    _detached(bed, options)
    return "the drain was deleted, then the queue attached anew"


def server_has_no_room(bed, draw, _options):
    """On this host the queue sees what the server's socket drops."""
    bed.server.limit_room(draw.choice((2304, 20000)))
    _nap(draw, 1)
    bed.server.limit_room()
    return "the server's socket had little room"


def job_begins_anew(bed, draw, _options):
    times = draw.randint(1, 3)
    for _ in range(times):
        if draw.random() < 0.5:
            bed.olaf("job", "reset", "in", bed.job[0])
        else:
            bed.olaf("job", "remove", "in", bed.job[0])
            _nap(draw)
            bed.set_job()
        _nap(draw)
    return f"the job began anew {times} times"


def job_is_halted(bed, draw, _options):
    bed.olaf("job", "halt", "in", bed.job[0])
    _nap(draw, 1)
    bed.olaf("job", "resume", "in", bed.job[0])
    return "the job was halted for a while"


def job_command_is_killed(bed, draw, _options):
    """Whatever it had done by then, the next commands find a job that they can set."""
    what = draw.choice(("set", "remove", "reset", "halt", "resume", "list"))
    words = {"set": bed.job, "list": []}.get(what, bed.job[:1])
    if what == "set":
        bed.olaf("job", "remove", "in", bed.job[0])
    told = _killed(bed, draw, ["job", what, "in", *words], 0.1)
    if any(job["job"] == int(bed.job[0]) for job in bed.status()["jobs"]):
        bed.olaf("job", "remove", "in", bed.job[0])
    bed.set_job()
    return told


def a_worker_stops(bed, draw, _options):
    """The others wait for it, and nothing is lost."""
    process = draw.choice(bed.sums.workers)
    os.kill(process.pid, signal.SIGSTOP)
    _nap(draw, 1)
    os.kill(process.pid, signal.SIGCONT)
    return "a worker of the job stood still for a while"


def the_guest_dies(bed, draw, _options):
    """Somebody takes it out, and another one comes."""
    for _ in range(draw.randint(1, 3)):
        _nap(draw, 0.5)
        bed.sums.kill_guest()
    return f"the guest of the job died; {bed.sums.visits()} visits so far"


# Books go on through these, exactly.
UNDER_LOAD = [nothing, drain_flaps, replaced, command_is_killed, input_flaps]
BEHIND_AN_OUTPUT = [output_flaps, output_mtu, output_is_full]
ROUTED = [neighbour_vanishes, neighbour_fails, route_goes]
QUIET = [server_goes, peer_takes_no_redirects, server_changes_mac]
OF_A_JOB = [job_begins_anew, job_is_halted, job_command_is_killed, a_worker_stops]
# After these the queue is another one, with books of its own.
NEW_BOOKS = [detach_is_killed, attached_anew, drain_is_deleted]


def faults_for(bed):
    found = UNDER_LOAD + NEW_BOOKS
    if not bed.far:
        found = found + [server_has_no_room]
    else:
        found = found + BEHIND_AN_OUTPUT + QUIET
    if bed.way in ("routed", "upstream"):
        found = found + ROUTED
    if bed.job:
        found = found + OF_A_JOB + ([the_guest_dies] if bed.sums.has_guest else [])
    return found
