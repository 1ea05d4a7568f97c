#!/usr/bin/env python3
"""Writes motifd.py as a C file: its bytes, compressed by gzip, and their hash. The daemon serves motifd.py at /motifd.py.

usage: embed.py MOTIFD.PY OUT.c"""
import gzip
import hashlib
import sys

with open(sys.argv[1], "rb") as file:
    plain = file.read()
packed = gzip.compress(plain, 9, mtime=0)
rows = "\n".join("    " + "".join(f"{byte}," for byte in packed[at:at + 24]) for at in range(0, len(packed), 24))
with open(sys.argv[2], "w") as out:
    out.write(f"""/* Made from clients/python/motifd.py by embed.py. */
#include "api/documents/dashboard.h"

static const unsigned char bytes[] = {{
{rows}
}};
const struct dashboard_file python_client_file = {{"motifd.py", "text/x-python; charset=utf-8",
    "{hashlib.sha256(plain).hexdigest()[:32]}", bytes, sizeof bytes, {len(plain)}}};
""")
