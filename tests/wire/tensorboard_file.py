"""Decodes an event file of TensorBoard by the published formats, without the code that wrote it: TensorFlow's record format
(tensorflow/core/lib/io/record_writer.h: length, masked CRC-32C of the length, data, masked CRC-32C of the data), the wire format of
protocol buffers, and the messages Event and Summary (tensorflow/core/util/event.proto, framework/summary.proto)."""
import struct


def crc32c(data):
    """CRC-32C, bit by bit: polynomial 0x1EDC6F41, reflected."""
    crc = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            low = (crc ^ byte >> bit) & 1
            crc = crc >> 1 ^ (0x82F63B78 if low else 0)
    return ~crc & 0xFFFFFFFF


def unmask(masked):
    """The checksum of which `masked` is the rotated and shifted form."""
    turned = (masked - 0xA282EAD8) & 0xFFFFFFFF
    return (turned >> 17 | turned << 15) & 0xFFFFFFFF


def records(data):
    """Yields the data of each record, and raises ValueError at a wrong checksum or a cut record."""
    at = 0
    while at < len(data):
        if len(data) < at + 12:
            raise ValueError(f"the record at {at} has no whole header")
        size, check = struct.unpack_from("<QI", data, at)
        if unmask(check) != crc32c(data[at:at + 8]):
            raise ValueError(f"the length of the record at {at} has another checksum")
        if len(data) < at + 16 + size:
            raise ValueError(f"the record at {at} is cut")
        body = data[at + 12:at + 12 + size]
        if unmask(struct.unpack_from("<I", data, at + 12 + size)[0]) != crc32c(body):
            raise ValueError(f"the record at {at} has another checksum")
        yield body
        at += 16 + size


def varint(data, at):
    value = shift = 0
    while True:
        if shift > 63:
            raise ValueError("a varint has more than ten bytes")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(message):
    """The fields of a message, as (number, wire type, value)."""
    at, found = 0, []
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 2:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = struct.unpack_from("<d" if kind == 1 else "<f", message, at)[0], at + size
        else:
            raise ValueError(f"wire type {kind}")
        if at > len(message):
            raise ValueError("a field is longer than its message")
        found.append((key >> 3, kind, value))
    return found


# message: {field number: (wire type, name)}
EVENT = {1: (1, "wall_time"), 2: (0, "step"), 3: (2, "file_version"), 5: (2, "summary")}
SUMMARY = {1: (2, "value")}
VALUE = {1: (2, "tag"), 2: (5, "simple_value")}


def message(data, known):
    """The fields of a message under their names; each name has a list."""
    out = {}
    for number, kind, value in fields(data):
        if known.get(number, (None,))[0] != kind:
            raise ValueError(f"field {number} with wire type {kind}")
        out.setdefault(known[number][1], []).append(value)
    return out


def events(data):
    """The events of a file: {"wall_time", "step", "file_version", "values": {tag: value}}."""
    for record in records(data):
        event = message(record, EVENT)
        values = {}
        for summary in event.get("summary", []):
            for entry in message(summary, SUMMARY).get("value", []):
                value = message(entry, VALUE)
                values[value["tag"][0].decode()] = value["simple_value"][0]
        yield {"wall_time": event["wall_time"][0], "step": event.get("step", [0])[0], "file_version": event.get("file_version", [b""])[0].decode(), "values": values}
