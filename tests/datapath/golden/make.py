#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the golden frames next to this file with scapy, for packet_test.cpp to compare with."""
import pathlib
import struct

from scapy.all import (IP, UDP, Dot1AD, Dot1Q, Ether, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop,
                       PadN, IPOption_EOL, IPOption_NOP, Raw)

WORKER, SERVER = "02:00:00:00:00:0a", "02:00:00:00:00:0b"


def update(cluster=0, worker=1, sequence=1, count=1, generated_ns=1_000_000, reward=0,
           model_version=1, segment=0, segments=1, flags=0, checksum=True, lanes=(1, 2, 3, 4)):
    lanes = list(lanes)
    if checksum:
        flags |= 1
        lanes.append(sum((2 * i + 1) * lane for i, lane in enumerate(lanes)) % 2**64)
    header = struct.pack(">HBBHHIIIIQqIHH", 0x01AF, 1, 1, flags, len(lanes), cluster, worker,
                         sequence, count, generated_ns, reward, model_version, segment, segments)
    return Raw(header + struct.pack(f"<{len(lanes)}Q", *lanes))


def ack(cluster, lanes):
    header = struct.pack(">HBBHHIIIIQQIHH", 0x01AF, 1, 2, 0x0300, len(lanes), cluster, 0xFFFFFFFF,
                         1, 0, 1_000_000, 0, 1, 0, 1)
    return Raw(header + struct.pack(f"<{len(lanes)}Q", *lanes))


ETHER = Ether(dst=SERVER, src=WORKER)
IP4 = dict(src="10.0.0.1", dst="10.0.1.2", id=0x1234, flags="DF", ttl=64)
IP6 = dict(src="fd00::1", dst="fd00:0:0:1::2", fl=0x1234, hlim=64)
PORTS = UDP(sport=40000, dport=6523)
PAD4 = [PadN(optdata=b"\0" * 4)]

FRAMES = {
    "ipv4": ETHER / IP(**IP4) / PORTS / update(),
    "ipv4_vlan": ETHER / Dot1Q(vlan=7) / IP(**IP4) / PORTS / update(cluster=3, reward=-65536),
    "ipv4_qinq": ETHER / Dot1AD(vlan=100) / Dot1Q(vlan=7) / IP(**IP4) / PORTS /
                 update(count=5, flags=2, lanes=(2**64 - 1, 2**63)),
    "ipv4_options": ETHER / IP(options=[IPOption_NOP()] * 7 + [IPOption_EOL()], **IP4) / PORTS /
                    update(checksum=False, flags=0x100),
    "ipv6": ETHER / IPv6(**IP6) / PORTS / update(flags=0x200, segment=2, segments=9),
    "ipv6_extensions": ETHER / Dot1Q(vlan=7) / IPv6(**IP6) / IPv6ExtHdrHopByHop(options=PAD4) /
                       IPv6ExtHdrDestOpt(options=PAD4) / PORTS / update(),
    "ipv4_ack": ETHER / IP(**IP4) / PORTS / ack(9, [0x3F8000003F800000]),
}

for name, frame in FRAMES.items():
    text = bytes(frame).hex()
    lines = [text[i:i + 64] for i in range(0, len(text), 64)]
    path = pathlib.Path(__file__).with_name(name + ".hex")
    path.write_text("\n".join(lines) + "\n")
