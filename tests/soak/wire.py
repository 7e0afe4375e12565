# SPDX-License-Identifier: BSD-2-Clause
"""Messages and frames, as docs/protocol.md has them."""
import ipaddress
import struct

PORT = 6523
MAGIC = 0x01AF
UPDATE, ACK = 1, 2
CHECKSUM = 1
HEADER = struct.Struct("!HBBHHIIIIQqIHH")
MASK = (1 << 64) - 1


def checksum_lane(lanes):
    return sum((2 * i + 1) * lane for i, lane in enumerate(lanes)) & MASK


def message(cluster, worker, sequence, lanes, kind=UPDATE, count=1, version=1, flags=CHECKSUM,
            generated_ns=1, segment=0, segments=1):
    lanes = [*lanes, checksum_lane(lanes)] if flags & CHECKSUM else list(lanes)
    head = HEADER.pack(MAGIC, version, kind, flags, len(lanes), cluster, worker, sequence, count,
                       generated_ns, 0, 1, segment, segments)
    return head + struct.pack(f"<{len(lanes)}Q", *lanes)


def parse(payload):
    """(cluster, count) of an UPDATE, None for anything else; ValueError if it is a spoilt one."""
    if len(payload) < HEADER.size or payload[:4] != struct.pack("!HBB", MAGIC, 1, UPDATE):
        return None
    _, _, _, flags, lanes, cluster, _, _, count, *_ = HEADER.unpack_from(payload)
    if len(payload) != HEADER.size + 8 * lanes:
        raise ValueError(f"{len(payload)} bytes with {lanes} lanes")
    if flags & CHECKSUM:
        *data, last = struct.unpack_from(f"<{lanes}Q", payload, HEADER.size)
        if checksum_lane(data) != last:
            raise ValueError(f"cluster {cluster}: the checksum lane is wrong")
    return cluster, count


def internet_checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(source_mac, target_mac, source, target, payload, port=PORT, source_port=40000, tag=None,
          ttl=64):
    """An Ethernet frame with UDP; its checksums are right."""
    source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
    udp = struct.pack("!HHHH", source_port, port, 8 + len(payload), 0) + payload
    pseudo = source.packed + target.packed + struct.pack("!IHBB", len(udp), 0, 0, 17)
    check = internet_checksum(pseudo + udp) or 0xFFFF
    udp = udp[:6] + struct.pack("!H", check) + udp[8:]
    if source.version == 4:
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, ttl, 17, 0)
        ip += source.packed + target.packed
        ip = ip[:10] + struct.pack("!H", internet_checksum(ip)) + ip[12:]
        proto = 0x0800
    else:
        ip = struct.pack("!IHBB", 6 << 28, len(udp), 17, ttl) + source.packed + target.packed
        proto = 0x86DD
    vlan = b"" if tag is None else struct.pack("!HH", 0x8100, tag)
    return target_mac + source_mac + vlan + struct.pack("!H", proto) + ip + udp


def update_in(data):
    """The payload of UDP to our port in an Ethernet frame, or None."""
    at = 12
    proto = data[at:at + 2]
    while proto in (b"\x81\x00", b"\x88\xa8"):
        at += 4
        proto = data[at:at + 2]
    at += 2
    if len(data) < at + 48:
        return None
    if proto == b"\x08\x00" and data[at] >> 4 == 4 and data[at + 9] == 17:
        if int.from_bytes(data[at + 6:at + 8], "big") & 0x3FFF:
            return None  # a fragment
        at += 4 * (data[at] & 15)
    elif proto == b"\x86\xdd" and data[at] >> 4 == 6 and data[at + 6] == 17:
        at += 40
    else:
        return None
    if data[at + 2:at + 4] != struct.pack("!H", PORT):
        return None
    return data[at + 8:at + int.from_bytes(data[at + 4:at + 6], "big")]
