# SPDX-License-Identifier: BSD-2-Clause
"""DistributedDataParallel over a host with Olaf: its gradients are averaged there (docs/rounds.md)::

    import olaf, olaf.torch
    torch.distributed.init_process_group("gloo", ...)     # start-up and the first broadcast
    model = torch.nn.parallel.DistributedDataParallel(model)
    job = olaf.torch.collective("192.0.2.1", job=7, run="a name of the training's")
    job.start()                                           # all are there
    model.register_comm_hook(None, olaf.torch.allreduce_hook(job))
    ...                                                   # training, unchanged
    job.finish()                                          # after the last step, at every worker

For CPU tensors; torch 1.13 and later.
"""

import math
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import torch
import torch.distributed as dist

from ._olaf import Collective, Sum, SumReport, _watch_interrupts

__all__ = ["allreduce_hook", "collective"]

_Hook = Callable[[object, dist.GradBucket], torch.futures.Future[torch.Tensor]]


def collective(node: str, job: int, *, process_group: dist.ProcessGroup | None = None, run: str | None = None,
               timeout: float | None = None, **options: Any) -> Collective:
    """A Collective of a process group's processes (None: of the default one), to be made by all of them.

    Rank, workers and timeout are the group's, unless a timeout in seconds is given. `run` names the
    training, for all workers alike and for each training another one; without it torchrun's or Slurm's
    name is taken, and where there is none that is a ValueError. The number of the run is the time at the
    group's first process: so each start of a training takes the job over from those before it
    (docs/rounds.md, "Runs"). The other options are olaf.Collective's.
    """
    group = process_group or dist.group.WORLD
    rank = dist.get_rank(group)
    if rank < 0:
        raise ValueError("this process isn't in the process group: let only those that are call collective()")
    number = [time.time_ns()]
    dist.broadcast_object_list(number, src=dist.get_global_rank(group, 0), group=group)
    return Collective(node, job, rank, dist.get_world_size(group), run=run, run_number=number[0],
                      timeout=_timeout_of(group) if timeout is None else timeout, **options)


def _timeout_of(group: dist.ProcessGroup) -> float:
    """In seconds, as the process group was made with."""
    made = getattr(group, "options", None)
    if made is None and hasattr(group, "_get_backend"):  # torch 2: of a group's backend for CPU tensors
        made = getattr(group._get_backend(torch.device("cpu")), "options", None)
    return getattr(made, "_timeout", dist.distributed_c10d.default_pg_timeout).total_seconds()


def allreduce_hook(collective: Collective, *, residual: bool = False,
                   report: Callable[[SumReport], object] | None = None) -> _Hook:
    """A hook for DistributedDataParallel.register_comm_hook(), whose state it ignores.

    Each bucket becomes the mean over all workers, as DDP's own hook makes it. Buckets are matched by
    the order in which DDP hands them over, which is the same at all workers, and not by their index:
    DDP lays its buckets out anew after the first step. So nothing else may be summed by this
    collective between a step's first bucket and its last, unless at all workers at the same place.

    float32 buckets are averaged where they lie, without a copy; float16 and bfloat16 in a float32
    copy. Other types, and other devices than the CPU, are refused. A thread waits for the sums, with
    the GIL released, while backward goes on. What goes wrong is raised by backward(), in a
    RuntimeError that says what it was: a timeout, for instance, and who is missing. Ctrl-C raises
    KeyboardInterrupt in backward() within a second, and leaves NaN in the gradients: where SIGINT has
    Python's own handler, and no event loop has the interpreter's wakeup descriptor.

    Where the job has a threshold or a deadline, a mean may be without this worker's part, which came
    too late. It is lost, unless `residual` is true: then it is added to the next gradient of the same
    parameters. That takes a copy of each bucket. `report` is called with what became of each bucket,
    from the thread that waits.
    """
    # One thread, so that sums are waited for in their order. At exit Python joins it.
    waiting = ThreadPoolExecutor(1, "olaf-allreduce")
    waiting.submit(int).result()  # it begins here: Ctrl-C amid its beginning would leave it for good
    late = _Late() if residual else None

    def hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        _let_ctrl_c_through()
        buffer = bucket.buffer()
        vector = _as_float32(buffer)
        keep = late.begin(bucket, vector) if late else None
        sent = collective.allreduce_async(vector.numpy(), op="mean")
        ended: torch.futures.Future = torch.futures.Future()
        # What a callback raises becomes the future's error in C++ too, where DDP waits for it.
        mean = ended.then(lambda each: _unless_failed(each.value()))
        followers = [each for each in (keep, report) if each]
        waiting.submit(_finish, sent, vector, buffer, followers, ended)
        return mean

    return hook


# CPython writes the numbers of signals to the one end, and the thread that waits reads the other.
_signals = socket.socketpair()
for _each in _signals:
    _each.setblocking(False)


def _let_ctrl_c_through() -> None:
    """DDP waits for the last gradients in C++, where no handler of Python's runs. The thread that waits
    for their sums is told of SIGINT, and ends its wait. Then DDP returns, and the handler raises."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        _watch_interrupts(-1)  # what the user's own handler does isn't ours to say
        return
    before = signal.set_wakeup_fd(_signals[0].fileno(), warn_on_full_buffer=False)
    if before not in (-1, _signals[0].fileno()):
        signal.set_wakeup_fd(before)  # an event loop's
        _watch_interrupts(-1)
        return
    _watch_interrupts(_signals[1].fileno())


def _as_float32(buffer: torch.Tensor) -> torch.Tensor:
    """The buffer itself, or a copy of one of a shorter type."""
    if buffer.device.type != "cpu":
        raise TypeError(f"cannot average a bucket on {buffer.device}: olaf.torch is for CPU tensors "
                        "(keep the model on the CPU, or use another hook)")
    if buffer.dtype in (torch.float16, torch.bfloat16):
        return buffer.float()
    if buffer.dtype != torch.float32:
        raise TypeError(f"cannot average a bucket of {buffer.dtype}: olaf.torch is for float32, "
                        "float16 and bfloat16 (make the model's parameters one of these)")
    return buffer


class _Late:
    """What of this worker's gradients came too late, until the next ones of the same parameters."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, ...], list[tuple[slice, torch.Tensor]]] = {}

    def begin(self, bucket: dist.GradBucket, vector: torch.Tensor) -> Callable[[SumReport], None]:
        """Adds what was late to the vector. Returns what keeps that of the vector's, once it is known."""
        parameters = tuple(id(each) for each in bucket.parameters())
        for at, part in self._parts.pop(parameters, ()):
            vector[at] += part
        own = vector.clone()

        def keep(sums: SumReport) -> None:
            if sums.left_out_at:
                self._parts[parameters] = [(at, own[at].clone()) for at in sums.left_out_at]

        return keep


def _finish(sent: Sum, vector: torch.Tensor, buffer: torch.Tensor,
            followers: list[Callable[[SumReport], object]], ended: torch.futures.Future) -> None:
    """Waits for a mean; the future gets it, or what went wrong."""
    try:
        sums = sent.wait()
        for each in followers:
            each(sums)
        if vector is not buffer:
            buffer.copy_(vector)
        ended.set_result(buffer)
    except InterruptedError:
        # The mean is NaN. KeyboardInterrupt is raised as soon as backward() is back in Python. An
        # error of its own would come before that one, and hide it.
        buffer.fill_(math.nan)
        ended.set_result(buffer)
    except BaseException as error:  # whatever it is, backward() must not wait for ever
        ended.set_result(error)


def _unless_failed(result: object) -> object:
    if isinstance(result, BaseException):
        raise result
    return result
