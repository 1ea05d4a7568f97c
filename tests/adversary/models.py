"""Changes a model file (safetensors): truncates it, or changes its shapes, its weights or its configuration."""
import json
import struct

WEIGHTS = (float("nan"), float("inf"), -float("inf"), 1e30, -1e38, 1e-45, 0.0)
NOTES = {"step": ("0", "-1", str(2**63 - 1), str(10**30), "x"), "checkpoint": ("0", str(2**62), ""), "density": ("0", "1e-320", "nan", "2", "0x1p-3"),
         "kind": ("factors", "sparling\x1b[2J", ""), "samples": ("-5", str(2**53))}


def split(data):
    """Returns (header, bytes of the tensors)."""
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8:8 + length]), data[8 + length:]


def join(header, body):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def with_weights(header, body, dice):
    """Sets all values of about half of the tensors to one unusual number."""
    changed = bytearray(body)
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32" and dice.random() < 0.5:
            begin, end = tensor["data_offsets"]
            changed[begin:end] = struct.pack("<f", dice.choice(WEIGHTS)) * ((end - begin) // 4)
    return bytes(changed)


def with_shapes(header, dice):
    """Gives one tensor another shape, type or place."""
    tensor = header[dice.choice(sorted(set(header) - {"__metadata__"}))]
    choice = dice.randrange(4)
    if choice == 0:
        tensor["shape"] = [dice.choice((0, 1, 2**31, 2**63, -1)) for _ in range(dice.randrange(5))]
    elif choice == 1:
        tensor["dtype"] = dice.choice(("F16", "F64", "I64", "BF16", "none"))
    elif choice == 2:
        tensor["data_offsets"] = [dice.choice((0, 2**62, -4)), dice.choice((4, 2**63))]
    else:
        tensor["shape"] = tensor["shape"][::-1] + [1]


def hostile(data, fields, draw, dice):
    """Returns a changed copy of the model. `draw(field, dice)` draws values of the configuration."""
    header, body = split(data)
    notes = header["__metadata__"]
    way = dice.randrange(6)
    if way == 0:
        return data[:dice.randrange(len(data))]
    if way == 1:
        at = dice.randrange(len(data))
        return data[:at] + bytes(dice.randrange(256) for _ in range(8)) + data[at + 8:]
    if way == 2:
        return struct.pack("<Q", dice.choice((0, 7, 2**32, 2**63, len(data)))) + data[8:]
    if way == 3:
        with_shapes(header, dice)
    if way == 4:
        name = dice.choice(sorted(NOTES))
        notes[name] = dice.choice(NOTES[name])
    if way >= 4:
        config = json.loads(notes["config"])
        for field in dice.sample(fields, dice.choice((0, 0, 1, 2))):
            config[field["name"]] = draw(field, dice)
        notes["config"] = json.dumps(config)
        body = with_weights(header, body, dice)
    return join(header, body)
