# SPDX-License-Identifier: BSD-2-Clause
"""What messages of a job look like, by docs/protocol.md and docs/rounds.md."""
import collections
import functools
import struct

CONTROL, CONTRIBUTION, RESULT = 3, 4, 5  # types
CHECKSUM, PARTIAL, LATE, STALE, FLUSH = 1 << 0, 1 << 4, 1 << 5, 1 << 6, 1 << 7  # flags
ANSWER, ABOVE, SPOILT, MISFIT = 1 << 12, 1 << 13, 1 << 14, 1 << 15
SYNC, LEAVE = 2, 3  # actions of CONTROL
DONE, WAIT, OLD, GONE, OVER, OTHER = 0, 1, 2, 3, 5, 6  # status of its answers
FLOATS = 3  # an element format
INT64, FAREWELL = 2, 2**32 - 1  # what a vector is made of; the chunks of no other vector
LAYOUT = struct.Struct(">HBBHHIHHIIQIIIHBB")
Header = collections.namedtuple(
    "Header", "magic version type flags lanes job workers rank round what generated chunk chunks "
    "generation status pool check", defaults=[0] * 17)  # `what` is content and count, named, or the action


def check(header):
    """The header's: 0 of one that is whole ("Damage")."""
    turned = (byte if at & 8 else (byte << 3 | byte >> 5) & 255 for at, byte in enumerate(header))
    return functools.reduce(lambda check, byte: check ^ byte, turned)


def checksum(lanes):
    """The checksum lane ("Element formats")."""
    return sum((2 * i + 1) * lane for i, lane in enumerate(lanes)) % 2**64


def pack(lanes=b"", **fields):
    frame = bytearray(LAYOUT.pack(*Header(0x01AF, 2, lanes=len(lanes) // 8, **fields)))
    frame[47] = check(frame)
    return frame + lanes


def unpack(frame, job):
    """The header of a message of this job that is whole, else None; and its lanes."""
    lanes = frame[48:]
    if len(frame) >= 48 and check(frame[:48]) == 0:
        header = Header(*LAYOUT.unpack(frame[:48]))
        if header[:2] == (0x01AF, 2) and header.job == job and len(lanes) == 8 * header.lanes:
            return header, lanes
    return None, lanes


def identity(chunks, workers, content):
    return chunks << 32 | workers << 16 | content


def describe(identity):
    """A vector's identity in words ("One vector")."""
    chunks, workers, content = identity >> 32, identity >> 16 & 0xFFFF, identity & 0xFFFF
    if chunks == FAREWELL:
        return "a farewell"
    return (f"{chunks} chunks, the last of {content & 0x1FFF} elements of type {content >> 13}, "
            f"among {workers} workers")


def training_of(name):
    """64-bit FNV-1a ("Runs")."""
    def step(result, byte):
        return (result ^ byte) * 0x100000001B3 % 2**64
    return functools.reduce(step, name.encode(), 0xCBF29CE484222325) or 1
