# SPDX-License-Identifier: BSD-2-Clause
"""Does folding make training better? LunarLander learned by real workers through the real queue, asynchronously and in step,
with what each part of the design is worth."""

import dataclasses
import statistics

from evaluation.pictures import figure, learning, legend, save
from evaluation.processes import together
from evaluation.spread import difference_of_pairs, spread, text, written
from evaluation.training import Case, train

TITLE = "Reward: LunarLander through the queue"
SOURCE = "OLAF paper, sections 2.1 and 8.2, figures 2, 3, 7 and 8; iSwitch, table 5"
SHORT = "Reward"

AT_A_TIME = 3
SEEDS, FEW_SEEDS = 5, 3
# Of the offered rate: so much a FIFO that always has input lets through where it loses what the paper's loses (table 1).
LOSSES = {"loss of 56 %": 0.558, "loss of 74 %": 0.743}
NARROW = "loss of 74 %"
MODES = {
    "asynchronous": Case(),
    "gather": Case(rule="gather"),
    "gather, 8 times the step": Case(rule="gather", gather_scale=8),
    "in step": Case(in_step=1),
    "in step, 8 times the step": Case(in_step=8),
}
WORKERS = {f"{count} worker{'s' if count > 1 else ''}": Case(workers=count) for count in (1, 2, 4, 8)}
QUEUES = {"no queue": Case(), **{f"{policy}, {loss}": Case(queue=policy, share=1 - part)
                                 for loss, part in LOSSES.items() for policy in ("olaf", "fifo")}}
_narrow = QUEUES[f"olaf, {NARROW}"]
ABLATIONS = {
    f"olaf, {NARROW}": _narrow,
    "a step a message": dataclasses.replace(_narrow, rule="mean"),
    "answers to the sender": dataclasses.replace(_narrow, to_cluster=False),
    "reward filter": dataclasses.replace(_narrow, threshold=50),
    "gated rule": dataclasses.replace(_narrow, rule="gate"),
    "the paper's rule": Case(rule="paper"),
}
SAME = ["8 workers", "no queue"]  # as "asynchronous", in other pictures
UNEQUAL = {"asynchronous": Case(spread=4), "in step": Case(in_step=1, spread=4)}  # 1 to 4 times as slow
QUICK = ["asynchronous", "in step", f"olaf, {NARROW}", f"fifo, {NARROW}"]
WHATS = {"asynchronous": "each worker sends when it is ready, the server takes a step for each update",
         "gather": "the server collects 8 updates and takes one step with their mean",
         "gather, 8 times the step": "the same, 8 times as long a step",
         "in step": "all wait for the mean of all, summed in the kernel",
         "in step, 8 times the step": "the same, 8 times as long a step"}


def cases(setting):
    """{name: (case, seeds)}: every case once, however many pictures it is in."""
    named = {**MODES, **WORKERS, **QUEUES, **ABLATIONS}
    if setting.quick:
        short = 6 if setting.brief else 60
        return {name: (dataclasses.replace(named[name], iterations=short), setting.runs or (1 if setting.brief else 2)) for name in QUICK}
    found = {name: (case, setting.runs or SEEDS) for name, case in named.items() if name not in SAME}
    return {**found, **{f"{name}, 1 to 4": (case, min(setting.runs or FEW_SEEDS, SEEDS)) for name, case in UNEQUAL.items()}}


def run(setting):
    wanted = cases(setting)
    jobs = [((name, seed), train, setting, case, seed) for name, (case, seeds) in wanted.items() for seed in range(1, seeds + 1)]
    # By seed, so that what disturbs the machine for a while disturbs all cases.
    found = together(setting, AT_A_TIME, sorted(jobs, key=lambda job: job[0][1]), lambda key: f"{key[0]}, seed {key[1]}")
    rows = {name: [{"seed": seed, **found[name, seed][0]} for seed in range(1, seeds + 1)] for name, (_, seeds) in wanted.items()}
    case = next(iter(wanted.values()))[0]
    return {"effort": f"{setting.runs or (2 if setting.quick else SEEDS)} seeds, {case.iterations} iterations of 512 steps for each worker",
            "rows": rows, "iterations": case.iterations}


def known(result, name):
    """The trainings of a case; none if it wasn't run. One of them has several names."""
    return result["rows"].get("asynchronous" if name in SAME else name, [])


def draw(result, directory):
    pictures = []

    def picture(name, names, title, panels=1):
        names = [each for each in names if known(result, each)]
        if not names:
            return
        drawing, axes = figure(panels, width=7 + 4 * panels, height=4.6, title=title)
        for each in names:
            runs = known(result, each)
            curves = [run["curve"] for run in runs]
            learning(axes[0], list(range(1, 1 + max(map(len, curves)))), curves, each)
            if panels > 1:
                learning(axes[1], [statistics.fmean(at) for at in zip(*(run["seconds"] for run in runs))], curves, each)
        axes[0].set_xlabel("iterations of each worker")
        if panels > 1:
            axes[1].set_xlabel("seconds")
        axes[0].set_ylabel("mean reward of the last five episodes")
        legend(axes)
        pictures.append(save(drawing, directory, f"reward-{name}"))

    picture("modes", MODES, "Asynchronous or in step (figure 2); bands: one standard deviation of the seeds", 2)
    picture("workers", WORKERS, "More workers (figure 3)")
    picture("queues", QUEUES, "Through a queue (figure 8), beside eight other clusters")
    picture("ablations", ABLATIONS, f"What the parts are worth, at the {NARROW} of a FIFO")
    return pictures


def of(result, name, key):
    return [run.get(key) for run in known(result, name)]


def cell(result, name, key, digits=0):
    return text(spread(of(result, name, key)), digits)


def apart(result, name, to, key="auc"):
    """"57 (41 to 73)" of one case less another's, seed by seed; "–" where one wasn't run."""
    ours, theirs = of(result, name, key), of(result, to, key)
    if not ours or len(ours) != len(theirs):
        return "–"
    found = difference_of_pairs(ours, theirs)
    if found["low"] is None:
        return written(found["mean"], 0)
    return f"{written(found['mean'], 0)} ({written(found['low'], 0)} to {written(found['high'], 0)})"


def faster(result):
    """How many times as long a FIFO takes to a mean reward of 100, seed by seed where both get there; and in how many it never does."""
    found = {}
    for loss in LOSSES:
        pairs = list(zip(of(result, f"fifo, {loss}", "seconds_to_100"), of(result, f"olaf, {loss}", "seconds_to_100")))
        both = spread([theirs / ours for theirs, ours in pairs if ours and theirs])
        never = sum(theirs is None and ours is not None for theirs, ours in pairs)
        found[loss] = f"{text(both, 1)} ×" + (f", and {never} of {len(pairs)} only with Olaf" if never else "")
    return found


def table(result, names, columns):
    """columns: {heading: (key, digits)}."""
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (1 + len(columns)) + "|"]
    for name in names:
        if known(result, name):
            lines.append(f"| {name} | " + " | ".join(cell(result, name, key, digits) for key, digits in columns.values()) + " |")
    return "\n".join(lines)


COMMON = {"area": ("auc", 0), "last 20 iterations": ("last", 0), "iterations to 0": ("iterations_to_0", 0),
          "iterations to 100": ("iterations_to_100", 0), "seconds to 100": ("seconds_to_100", 1), "staleness, versions": ("staleness", 1)}
LOST = {"lost by the queue, %": ("lost_percent", 1), "of this cluster's not arrived, %": ("missing_percent", 1), "age, ms": ("age_ms", 0)}


def page(result):
    modes = "\n".join(f"- *{name}*: {what}." for name, what in WHATS.items() if name in result["rows"])
    took = "; ".join(f"{loss}: {ratio}" for loss, ratio in faster(result).items())
    return f"""Eight workers learn LunarLander (examples/lunar_lander) for {result['iterations']} iterations each, in every mode, so that all have the
same experience. A worker needs 102 to 205 ms for an iteration of 512 steps, whatever its CPU could do. An update is what four epochs of PPO change
in the weights, 2,205 parameters in one frame of 8,922 bytes. *Area* is the mean reward over all iterations of all workers, each that of a worker's
last five episodes. Each figure is a median of seeds with its quartiles; differences are of the same seeds, with the interval in which
their mean lies with 95 % confidence (Student's t).

**In step or not (figure 2).** {apart(result, MODES_ASYNC, "in step")} points of reward an iteration lie between steps of a quarter of each change and the
same step once for all eight; with eight times that step it is {apart(result, MODES_ASYNC, "in step, 8 times the step")}. Asynchronous
training takes eight steps where the others take one: what figure 2 shows is mostly the length of a step.

{modes}

![Reward by iterations and by seconds](evaluation-reward-modes.png)

{table(result, [*MODES, *(f"{name}, 1 to 4" for name in UNEQUAL)], COMMON)}

*1 to 4*: the slowest worker is four times as slow as the fastest, not twice.

**More workers (figure 3).**

![Reward by number of workers](evaluation-reward-workers.png)

{table(result, WORKERS, COMMON)}

**Through a queue (figure 8).** The training's cluster shares a queue of 8 places with eight recorded ones. The output carries what a FIFO that always
has input lets through where it loses 55.8 and 74.3 % (table 1). At the wider one Olaf is {apart(result, "olaf, loss of 56 %", "fifo, loss of 56 %")} points ahead of the FIFO, at the narrower
one {apart(result, "olaf, loss of 74 %", "fifo, loss of 74 %")}; no queue at all is {apart(result, "no queue", "olaf, loss of 56 %")} and
{apart(result, "no queue", "olaf, loss of 74 %")} ahead of Olaf. Seconds to a mean reward of 100, a FIFO's over Olaf's (figure 7): {took}. Every update that was sent is in
the books: in a model, superseded or dropped.

![Reward through a queue](evaluation-reward-queues.png)

{table(result, QUEUES, {**COMMON, **LOST})}

**What the parts are worth**, at the narrower output. *A step a message*: the server ignores how many updates an aggregate holds. *Answers to the
sender*: the newest worker of an aggregate alone hears of the new weights. *Reward filter*: the queue's own, at 50. *Gated rule*: the server passes over
updates more than 50 below a moving average. *The paper's rule*: section 2.1 to the letter, without a queue: a lucky update closes its gate.

![Reward without parts of the design](evaluation-reward-ablations.png)

{table(result, ABLATIONS, {**COMMON, **LOST})}"""


MODES_ASYNC = next(iter(MODES))


def claims(result):
    if "a step a message" not in result["rows"]:
        return []
    return [
        f"**Training gets further where updates fold.** Where a FIFO loses 56 and 74 % of the updates, the same LunarLander workers have "
        f"{' and '.join(apart(result, f'olaf, {loss}', f'fifo, {loss}') for loss in LOSSES)} points more reward through Olaf (the paper: ahead, no figure).",
        f"**But only if the server does its part.** If it takes one step a message, whatever number of updates is in it, Olaf's lead becomes "
        f"{apart(result, 'a step a message', f'fifo, {NARROW}')} points against the FIFO; if only an aggregate's newest worker is answered, "
        f"{apart(result, 'answers to the sender', f'fifo, {NARROW}')}. The paper doesn't say so.",
        f"**Asynchronous training isn't better by itself.** With equal steps it is {apart(result, MODES_ASYNC, 'in step')} points ahead of training in step "
        f"(the paper's figure 2); against eight times as long steps in step, {apart(result, MODES_ASYNC, 'in step, 8 times the step')}."]


def takeaway(result):
    rows = []
    if f"fifo, {NARROW}" in result["rows"]:
        rows.append(("area under the reward, Olaf less fifo, at outputs where a fifo loses 56 and 74 %", "ahead, no figure",
                     " and ".join(apart(result, f"olaf, {loss}", f"fifo, {loss}") for loss in LOSSES)))
    if "in step" in result["rows"]:
        rows.append(("the same, asynchronous less in step: equal steps, and eight times as long ones in step", "ahead, no figure",
                     f"{apart(result, MODES_ASYNC, 'in step')}, {apart(result, MODES_ASYNC, 'in step, 8 times the step')}"))
    if "a step a message" in result["rows"]:
        rows.append((f"the same, without parts of the design less with all, at the {NARROW}: a step a message; answers to the sender", "–",
                     f"{apart(result, 'a step a message', f'olaf, {NARROW}')}; {apart(result, 'answers to the sender', f'olaf, {NARROW}')}"))
    return rows
