# SPDX-License-Identifier: BSD-2-Clause
"""Workers and parameter servers of distributed RL, over Olaf's protocol.

A worker, complete::

    worker = olaf.Worker("192.0.2.1", cluster=0, worker=7, elements=256)
    weights, version = worker.join()
    while training:
        gradient, reward = experience(worker.weights)
        worker.push(gradient, reward, worker.model_version)
        worker.wait(0.02)

A worker of synchronous training::

    job = olaf.Collective("192.0.2.1", job=3, rank=0, workers=4, run="a name of the training's")
    job.start()
    while training:
        gradient = compute(weights)
        job.allreduce(gradient)  # in place: the sum over all workers
"""

from . import _olaf
from ._olaf import *
from ._olaf import __version__

__all__ = sorted({name for name in vars(_olaf) if not name.startswith("_")} | {"__version__"})

for _name in __all__:  # errors and help() shall say olaf.Worker, not where it is implemented
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
