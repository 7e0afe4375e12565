# SPDX-License-Identifier: BSD-2-Clause
from typing import Callable, Final, Iterator, Literal, final

import numpy as np
import numpy.typing as npt

# Whatever NumPy makes real numbers of: arrays, CPU tensors of torch, lists.
_Floats = npt.ArrayLike
_View = npt.NDArray[np.float32]
_Model = tuple[_View, int]
# Reports and counters, which are copies, have fields (Final). Objects that go on have properties.

DEFAULT_PORT: int
EVERY_WORKER: int
__version__: str

def tai_now_ns() -> int: ...

@final
class Codec:
    def __init__(
        self, *, format: str = "i32x2", scale: float = 65536.0, max_count: int = 256
    ) -> None: ...
    @property
    def format(self) -> str: ...
    @property
    def scale(self) -> float: ...
    @property
    def max_count(self) -> int: ...
    @property
    def limit(self) -> float: ...
    def fitting(self, largest: float, headroom: float = 4.0) -> Codec: ...
    def lanes(self, elements: int) -> int: ...
    def pack(self, gradient: _Floats) -> Packed: ...
    def unpack(
        self, lanes: npt.NDArray[np.uint64], elements: int, count: int = 1
    ) -> npt.NDArray[np.float32]: ...
    @staticmethod
    def checksum(lanes: npt.NDArray[np.uint64]) -> int: ...

@final
class Packed:
    lanes: Final[npt.NDArray[np.uint64]]
    clipped: Final[int]
    nans: Final[int]

@final
class SumReport:
    chunks: Final[int]
    spared: Final[int]
    least_count: Final[int]
    partial: Final[int]
    late: Final[int]
    not_finite: Final[int]
    left_out: Final[int]
    left_out_at: Final[list[slice]]

@final
class CollectiveStats:
    sent: Final[int]
    repeated: Final[int]
    joined: Final[int]
    unsent: Final[int]
    results: Final[int]
    spared: Final[int]
    partial: Final[int]
    late: Final[int]
    missed: Final[int]
    agreed: Final[int]
    unasked: Final[int]
    rejected: Final[dict[str, int]]

@final
class Sum:
    def wait(self) -> SumReport: ...
    @property
    def done(self) -> bool: ...

@final
class Collective:
    def __init__(
        self,
        node: str,
        job: int,
        rank: int,
        workers: int,
        *,
        format: str = "i32x2",
        checksum: bool = True,
        mtu: int = 0,
        lanes: int = 0,
        ahead: int = 64,
        guess_bits: int = 2,
        threads: int = 1,
        timeout: float = 30.0,
        group: str | None = None,
        run: str | None = None,
        run_number: int = 0,
        gso: bool = True,
    ) -> None: ...
    def start(self) -> None: ...
    def finish(self, timeout: float | None = None) -> bool: ...
    def join(self) -> int: ...
    def leave(self, timeout: float = 30.0) -> bool: ...
    def allreduce(
        self, vector: npt.NDArray[np.generic], op: Literal["sum", "mean"] = "sum"
    ) -> SumReport: ...
    def allreduce_async(
        self, vector: npt.NDArray[np.generic], op: Literal["sum", "mean"] = "sum"
    ) -> Sum: ...
    def poll(self) -> None: ...
    @property
    def stats(self) -> CollectiveStats: ...
    def fileno(self) -> int: ...

@final
class RoundServerStats:
    received: Final[int]
    repeated: Final[int]
    stale: Final[int]
    answered: Final[int]
    again: Final[int]
    agreed: Final[int]
    unsent: Final[int]
    not_finite: Final[int]
    clipped: Final[int]
    rejected: Final[dict[str, int]]

@final
class RoundSum:
    @property
    def gradient(self) -> npt.NDArray[np.float32]: ...
    @property
    def weights(self) -> npt.NDArray[np.float32]: ...
    @weights.setter
    def weights(self, weights: _Floats) -> None: ...
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def partial(self) -> bool: ...

@final
class RoundServer:
    def __init__(
        self,
        bind: str,
        job: int,
        weights: _Floats,
        rule: Callable[[RoundSum], object],
        workers: int,
        lanes: int,
        *,
        children: int = 1,
        format: str = "i32x2",
        checksum: bool = True,
        ahead: int = 64,
        pool: int = 6,
        run: str | None = None,
        run_number: int = 0,
    ) -> None: ...
    def receive(self, timeout: float | None = None) -> int: ...
    def serve(self, seconds: float | None = None) -> None: ...
    def stop(self) -> None: ...
    @property
    def address(self) -> str: ...
    @property
    def weights(self) -> list[float]: ...
    @property
    def stats(self) -> RoundServerStats: ...
    def fileno(self) -> int: ...

@final
class QueueState:
    def __init__(
        self,
        *,
        active_clusters: int = 0,
        capacity: int = 0,
        length: int = 0,
        since_ack_s: float = 0.0,
    ) -> None: ...
    active_clusters: Final[int]
    capacity: Final[int]
    length: Final[int]
    since_ack_s: Final[float]

@final
class TransmissionControl:
    def __init__(self, threshold: float, slope: float) -> None: ...
    @staticmethod
    def urgent(threshold: float = 0.4) -> TransmissionControl: ...
    @staticmethod
    def fair(threshold: float = 0.4) -> TransmissionControl: ...
    @property
    def threshold(self) -> float: ...
    @property
    def slope(self) -> float: ...
    def __call__(self, state: QueueState) -> float: ...

@final
class PauseAfterAck:
    def __init__(self, seconds: float) -> None: ...
    @property
    def seconds(self) -> float: ...
    def __call__(self, state: QueueState) -> float: ...

@final
class PushReport:
    outcome: Final[Literal["sent", "held", "too_stale"]]
    held: Final[bool]
    sequence: Final[int]
    segments: Final[int]
    unsent: Final[int]
    clipped: Final[int]
    nans: Final[int]
    way_mtu: Final[int]
    def __bool__(self) -> bool: ...

@final
class Feedback:
    stamped: Final[bool]
    congested: Final[bool]
    active_clusters: Final[int]
    queue_capacity: Final[int]
    queue_length: Final[int]
    stamped_ns: Final[int]
    sequence: Final[int]
    generated_ns: Final[int]
    received_ns: Final[int]

@final
class WorkerReport:
    version_lag: Final[int]
    update_age_ns: Final[int]
    round_trip_ns: Final[int]
    smoothed_round_trip_ns: Final[int]
    least_round_trip_ns: Final[int]
    answered: Final[int]
    unanswered: Final[int]
    acks_lost: Final[int]
    way_mtu: Final[int]

@final
class WorkerStats:
    updates: Final[int]
    held: Final[int]
    too_stale: Final[int]
    messages: Final[int]
    unsent: Final[int]
    clipped: Final[int]
    nans: Final[int]
    largest: Final[float]
    acks: Final[int]
    stale: Final[int]
    rejected: Final[dict[str, int]]

class Worker:
    def __init__(
        self,
        server: str,
        cluster: int,
        worker: int,
        elements: int,
        *,
        codec: Codec = Codec(),
        mtu: int = 1500,
        checksum: bool = True,
        transmission: Callable[[QueueState], float] | None = None,
        random: int | Callable[[], float] | None = None,
        staleness_bound: int | None = None,
        stochastic_rounding: bool = False,
        error_feedback: bool = False,
        rounding_seed: int | None = None,
    ) -> None: ...
    def join(self, timeout: float | None = 10.0) -> _Model: ...
    def push(
        self,
        gradient: _Floats,
        reward: float = 0.0,
        model_version: int | None = None,
        generated_ns: int | None = None,
    ) -> PushReport: ...
    def should_send(self) -> bool: ...
    def poll(self) -> _Model | None: ...
    def wait(self, timeout: float | None = None) -> _Model | None: ...
    @property
    def weights(self) -> _View: ...
    @property
    def has_weights(self) -> bool: ...
    @property
    def model_version(self) -> int: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def report(self) -> WorkerReport: ...
    @property
    def stats(self) -> WorkerStats: ...
    def fileno(self) -> int: ...

@final
class Update:
    @property
    def cluster(self) -> int: ...
    @property
    def gradient(self) -> _View: ...
    @property
    def weights(self) -> _View: ...
    @weights.setter
    def weights(self, weights: _Floats) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def reward(self) -> float: ...
    @property
    def worker(self) -> int: ...
    @property
    def model_version(self) -> int: ...
    @property
    def generated_ns(self) -> int: ...
    @property
    def segment(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    def skip(self) -> None: ...

@final
class Cluster:
    cluster: Final[int]
    version: Final[int]
    messages: Final[int]
    folded: Final[int]
    applied: Final[int]
    joins: Final[int]
    worst_lag: Final[int]
    total_lag: Final[int]
    workers: Final[int]
    aom_average_ns: Final[float]
    aom_peak_ns: Final[int]
    rejected: Final[dict[str, int]]
    weights: Final[_View]

@final
class ServerStats:
    datagrams: Final[int]
    acks_sent: Final[int]
    acks_unsent: Final[int]
    rejected: Final[dict[str, int]]

class ParameterServer:
    def __init__(
        self,
        bind: str = "0.0.0.0",
        *,
        mtu: int = 1500,
        acknowledge: str = "sender",
    ) -> None: ...
    def add_cluster(
        self,
        cluster: int,
        weights: _Floats,
        rule: str | Callable[[Update], bool | None] = "sgd",
        *,
        learning_rate: float = 0.001,
        codec: Codec = Codec(),
        require_checksum: bool = True,
        first_version: int = 1,
    ) -> None: ...
    def receive(self, timeout: float | None = None) -> int: ...
    def serve(self, seconds: float | None = None) -> None: ...
    def stop(self) -> None: ...
    def next(self, timeout: float | None = None) -> Update | None: ...
    def __iter__(self) -> Iterator[Update]: ...
    def __next__(self) -> Update: ...
    def cluster(self, cluster: int) -> Cluster: ...
    @property
    def address(self) -> str: ...
    @property
    def stats(self) -> ServerStats: ...
    def fileno(self) -> int: ...
