// Makes small files of the formats that the daemon accepts, byte by byte, so that the tests of the page need no fixtures.

/** A .npy file of float64 numbers. */
export function numbers(shape, values) {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`;
  const size = Math.ceil((text.length + 11) / 64) * 64 - 10;
  const head = Buffer.from(`\x93NUMPY\x01\x00${String.fromCharCode(size & 255, size >> 8)}${text.padEnd(size - 1)}\n`, "latin1");
  return Buffer.concat([head, Buffer.from(Float64Array.from(values).buffer)]);
}

/** A safetensors file with one tensor of float64 numbers. */
export function tensors(name, shape, values) {
  const bytes = Buffer.from(Float64Array.from(values).buffer), size = Buffer.alloc(8);
  const head = Buffer.from(JSON.stringify({ [name]: { dtype: "F64", shape, data_offsets: [0, bytes.length] } }));
  size.writeUInt32LE(head.length);
  return Buffer.concat([size, head, bytes]);
}

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

/** Little-endian fields of [value, bytes]. */
function fields(...list) {
  return Buffer.concat(list.map(([value, size]) => { const field = Buffer.alloc(size); field.writeUIntLE(value, 0, size); return field; }));
}

/** A zip file with one stored member. */
export function zip(name, bytes) {
  const member = [[0, 2], [0, 2], [0, 2], [0x21, 2], [crc32(bytes), 4], [bytes.length, 4], [bytes.length, 4], [name.length, 2], [0, 2]];
  const local = Buffer.concat([fields([0x04034b50, 4], [20, 2], ...member), Buffer.from(name)]);
  const directory = Buffer.concat([fields([0x02014b50, 4], [20, 2], [20, 2], ...member, [0, 2], [0, 2], [0, 2], [0, 4], [0, 4]), Buffer.from(name)]);
  const end = fields([0x06054b50, 4], [0, 2], [0, 2], [1, 2], [1, 2], [directory.length, 4], [local.length + bytes.length, 4], [0, 2]);
  return Buffer.concat([local, bytes, directory, end]);
}

/** A tar archive of [name, bytes]. */
export function archive(members) {
  const octal = (value, size) => value.toString(8).padStart(size - 1, "0") + "\0";
  const blocks = members.flatMap(([name, bytes]) => {
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write(octal(0o644, 8) + octal(0, 8) + octal(0, 8) + octal(bytes.length, 12) + octal(0, 12) + " ".repeat(8) + "0", 100);
    head.write("ustar\0" + "00", 257);
    head.write(octal(head.reduce((sum, byte) => sum + byte, 0), 7), 148);
    return [head, bytes, Buffer.alloc((512 - bytes.length % 512) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** A WAV file: a quarter of a second at 8 kHz; `pitch` changes the tone. */
export function sound(pitch) {
  const samples = Int16Array.from({ length: 2000 }, (_, i) => 8000 * Math.sin(i * (0.1 + pitch / 20)));
  const data = Buffer.from(samples.buffer);
  const format = fields([16, 4], [1, 2], [1, 2], [8000, 4], [16000, 4], [2, 2], [16, 2]);
  return Buffer.concat([Buffer.from("RIFF"), fields([36 + data.length, 4]), Buffer.from("WAVEfmt "), format, Buffer.from("data"), fields([data.length, 4]), data]);
}
