"""Reads the safetensors format with NumPy alone, and asserts every rule of its specification."""
import json
import struct

import numpy

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U8": "u1", "BOOL": "?"}


def read(data):
    """Returns (tensors by name, metadata)."""
    (length,) = struct.unpack_from("<Q", data)
    assert data[8:9] == b"{" and 8 + length <= len(data)
    head = json.loads(data[8:8 + length])
    notes = head.pop("__metadata__", {})
    assert all(isinstance(note, str) for note in notes.values())
    tensors, end = {}, 0
    for name, item in sorted(head.items(), key=lambda pair: pair[1]["data_offsets"]):
        begin, behind = item["data_offsets"]
        assert begin == end, f"{name}: a gap"
        dtype = numpy.dtype(DTYPES[item["dtype"]])
        assert behind - begin == dtype.itemsize * int(numpy.prod(item["shape"], dtype=int))
        tensors[name] = numpy.frombuffer(data[8 + length + begin:8 + length + behind], dtype).reshape(item["shape"])
        end = behind
    assert 8 + length + end == len(data), "bytes behind the last tensor"
    return tensors, notes


def write(tensors, notes):
    head, end = {"__metadata__": notes}, 0
    for name, values in tensors.items():
        kind = next(key for key, text in DTYPES.items() if numpy.dtype(text) == values.dtype)
        head[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values())
