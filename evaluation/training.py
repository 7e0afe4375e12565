# SPDX-License-Identifier: BSD-2-Clause
"""One LunarLander training in a network: through a queue beside other clusters' traffic, without a queue, or in step.
Every way has the same workers, the same experience and the same way back for answers."""

import dataclasses
import random
import statistics
import time

from evaluation.playing import read_trace, write_trace
from evaluation.processes import Process, drained
from evaluation.setting import ROOT
from evaluation.topology import SERVER, WORKERS, Line, Network

TRACE = ROOT / "evaluation/traces/lunar_lander.txt"
MTU = 9000
LANES = 1104  # 2,205 parameters, two a lane, and the checksum's
STEPS, STEP_US = 512, 200  # of an iteration; of the fastest worker
OTHERS = 8  # clusters of the trace
OTHERS_AT = "10.65.23.3"  # the server that counts their updates
QUEUE = 8
RATE = 0.25  # of a change that is taken
LATE = 0.05  # of an iteration: beyond this the machine has measured itself
TRIES = 3


@dataclasses.dataclass(frozen=True)
class Case:
    """How a model is trained. Times are of the whole: each worker's own iterations, at its own speed."""

    workers: int = 8
    iterations: int = 200
    spread: float = 2  # the slowest worker is so many times as slow as the fastest
    rule: str = "sum"  # of the server
    gather_scale: float = 1
    queue: str | None = None  # its policy; None: updates pass a bare bridge
    share: float = 1  # of the offered rate that the output carries
    to_cluster: bool = True  # answers are for all of it, not for the sender alone
    threshold: float | None = None  # of the queue's reward filter
    in_step: float = 0  # how many times RATE a step takes of the mean; 0: asynchronous

    def seconds(self, worker=0):
        """What its iterations take that worker."""
        slower = 1 + (self.spread - 1) * worker / max(1, self.workers - 1)
        return self.iterations * STEPS * STEP_US / 1e6 * slower


def frame_bits():
    return 8 * (14 + 20 + 8 + 48 + 8 * LANES)


def others(case, seed):
    """[(time_us, cluster, worker)] of OTHERS recorded clusters, again and again for as long as the training lasts, each begun at a
    moment of its own."""
    recorded, dice = read_trace(TRACE), random.Random(seed)
    each = {}
    for at, cluster, worker in recorded:
        if cluster < OTHERS:
            each.setdefault((cluster, worker), []).append(at)
    end, moments = 1e6 * case.seconds(case.workers - 1), []
    for (cluster, worker), times in each.items():
        period = (times[-1] - times[0]) * len(times) / (len(times) - 1)
        begin = -period * dice.random()
        while begin < end:
            moments += [(begin + at - times[0], cluster, worker) for at in times if 0 <= begin + at - times[0] < end]
            begin += period
    return sorted(moments)


def offered(case, moments):
    """Updates a second while all workers send."""
    own = sum(case.iterations / case.seconds(worker) for worker in range(case.workers))
    return own + len(moments) / case.seconds(case.workers - 1)


class InStep(Network):
    """workers -- in[node]: the node adds."""

    def _build(self):
        for name in ("workers", "node"):
            self._space(name)
        self._link("workers", "eth0", "node", "in")
        self._ip("workers", "address", "add", f"{WORKERS}/24", "dev", "eth0")
        self._ip("node", "address", "add", f"{SERVER}/24", "dev", "in")


def worker_command(setting, case, seed, *options):
    return [setting.program("examples/lunar_lander/olaf-lunar-lander-worker"), "--workers", f"0-{case.workers - 1}", "--iterations",
            case.iterations, "--steps", STEPS, "--step-us", STEP_US, "--spread", case.spread, "--seed", seed, *options]


def in_step(setting, case, seed):
    with InStep(setting.program("loader/olaf"), MTU) as network:
        network.attach_local("node", "--round-slots", "64")
        # As many lanes as an update has, and the one in which short vectors say their guess.
        network.job("node", 7, "--children", case.workers, "--lanes", LANES + 1)
        with Process(network, "workers", *worker_command(setting, case, seed, "--sync", SERVER, "--rate", RATE * case.in_step)) as workers:
            return {"worker": workers.outcome(case.seconds(case.workers - 1) * 3 + 60)}


def asynchronous(setting, case, seed):
    scratch = setting.directory / f"reward-{case.queue}-{seed}-{id(case)}.trace"
    with Line(setting.program("loader/olaf"), MTU) as network:
        queue = case.queue is not None
        moments = others(case, seed) if queue else []
        if queue:
            network.address("server", OTHERS_AT)
            rate = offered(case, moments) * frame_bits() * case.share
            network.attach_at("switch", f"{round(rate)}bit", QUEUE, "--policy", case.queue, "--max-clusters", str(OTHERS + 1),
                              "--drain-interval", "100us")
            if case.threshold is not None:
                network.cluster("switch", OTHERS, "--reward-threshold", case.threshold)
        acknowledge = ("cluster" if queue else "known") if case.to_cluster else "sender"
        # The trace's clusters come first; the training's is behind them.
        server = Process(network, "server", setting.program("examples/lunar_lander/olaf-lunar-lander-server"), "--bind", SERVER,
                         "--clusters", OTHERS + 1, "--rule", case.rule, "--rate", RATE, "--gather", case.workers, "--gather-scale",
                         case.gather_scale, "--ack", acknowledge, "--seed", seed, "--quiet")
        command = worker_command(setting, case, seed, "--server", SERVER, "--cluster", OTHERS)
        patience = case.seconds(case.workers - 1) * 2 + 60
        try:
            with server:
                if not queue:
                    with Process(network, "workers", *command) as workers:
                        return {"worker": workers.outcome(patience), "server": server.result()}
                with Process(network, "server", setting.program("evaluation/olaf-tally"), OTHERS_AT, "--clusters", OTHERS) as tally:
                    tally.ready()
                    with (Process(network, "workers", setting.program("evaluation/olaf-replay"), write_trace(scratch, moments),
                                  "--server", OTHERS_AT, "--lanes", LANES) as replay, Process(network, "workers", *command) as workers):
                        # While all workers send, the queue is offered what `share` is of.
                        time.sleep(0.9 * case.seconds())
                        busy = network.statuses()[0]["counters"]
                        found = {"worker": workers.outcome(patience), "replay": replay.outcome(patience), "busy": busy}
                    status = drained(network)[0]
                    return {**found, "status": status, "tally": tally.result(), "server": server.result()}
        finally:
            scratch.unlink(missing_ok=True)


def curve(worker):
    """[(mean reward of all workers, seconds)] by iteration; where no episode had ended, what others had."""
    by_iteration = {}
    for seconds, _, iteration, reward, _ in worker["rewards"]:
        by_iteration.setdefault(iteration, []).append((reward, seconds))
    return [tuple(map(statistics.fmean, zip(*by_iteration[iteration]))) for iteration in sorted(by_iteration)]


def first(points, target):
    """(iteration, seconds) at which the mean reward is there for the first time; None if never."""
    return next(((iteration, seconds) for iteration, (reward, seconds) in enumerate(points) if reward >= target), None)


def figures(case, found):
    """What a training came to. Raises RuntimeError where an update isn't in the books, or a value didn't fit."""
    worker, points = found["worker"], curve(found["worker"])
    rewards = [reward for *_, reward, _ in worker["rewards"]]
    result = {"auc": statistics.fmean(rewards), "last": statistics.fmean(reward for reward, _ in points[-20:]),
              "curve": [round(reward) for reward, _ in points], "seconds": [round(seconds, 1) for _, seconds in points],
              "late_ms": worker["late_mean_ms"]}
    for target in (0, 100):
        reached = first(points, target)
        result[f"iterations_to_{target}"], result[f"seconds_to_{target}"] = reached or (None, None)
    if worker["clipped"]:
        raise RuntimeError(f"{worker['clipped']} elements of changes didn't fit into fixed point")
    if "server" in found:
        total = found["server"]["total"]
        result["staleness"] = total["staleness_mean"]
        result["missing_percent"] = 100 * (1 - total["updates_folded"] / worker["sent"])
    if "status" in found:
        own, queue, busy = worker["sent"], found["status"]["counters"], found["busy"]
        sent = own + found["replay"]["sent"]
        arrived = total["updates_folded"] + sum(cluster["updates"] for cluster in found["tally"]["clusters"])
        unaccounted = sent - arrived - queue["updates_superseded"] - queue["updates_dropped"] - queue["updates_waiting"]
        if unaccounted:
            raise RuntimeError(f"{unaccounted} of {sent} updates are in no book")
        result["lost_percent"] = 100 * busy["updates_dropped"] / busy["updates_in"]
        result["age_ms"] = total_age(found["server"])
    elif "server" in found and found["server"]["total"]["updates_folded"] != worker["sent"]:
        raise RuntimeError("updates were lost where there is no queue")
    return result


def total_age(server):
    """The training's average Age-of-Model."""
    return server["clusters"][OTHERS]["aom_average_ms"]


def train(setting, case, seed):
    """The figures of one training. A machine that had other work to do isn't measured: it begins anew then."""
    for _ in range(TRIES):
        result = figures(case, (in_step if case.in_step else asynchronous)(setting, case, seed))
        if setting.brief or result["late_ms"] < LATE * 1e3 * case.seconds() / case.iterations:
            return result
    raise RuntimeError(f"the machine is busy: workers were {result['late_ms']:.1f} ms late in {TRIES} trainings")
