"""Small files that unpack to very much."""
import io
import json
import struct
import tarfile
import zlib


def bomb(first, filler, repeats):
    """A gzip file whose text is `first` and then `filler` again and again; it ends too early."""
    def piece(text):
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + piece(first) + piece(filler) * repeats


def sparse_folder():
    """A folder of SAELens of some kB whose weights unpack to a gigabyte of zeros."""
    head = json.dumps({"W_enc": {"dtype": "F32", "shape": [16384, 16384], "data_offsets": [0, 1 << 30]}}).encode()
    body = struct.pack("<Q", len(head)) + head
    places = f"1\n0\n{len(body)}\n".encode()
    out, data = io.BytesIO(), places + b"\0" * (-len(places) % 512) + body
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("GNUSparseFile.0/sae_weights.safetensors")
        member.size = len(data)
        member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "sae_weights.safetensors",
                              "GNU.sparse.realsize": str((1 << 30) + len(body))}
        tar.addfile(member, io.BytesIO(data))
    return out.getvalue()
