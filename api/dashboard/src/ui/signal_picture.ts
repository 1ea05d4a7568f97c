// Draws an input of a model as its kind of signal is usually shown: an image, lines, letters, or a spectrogram with axes.
import { bounds, paintGrid } from "./canvas";
import { colour, hueColour, seriesColour } from "./theme";

/** The symbols of a sequence, one for each channel, as the daemon describes them. colours: names of hueColour(). */
export interface Alphabet { name: string; symbols: string[]; colours: string[]; unknown: string; unit: string }
/** An input, row-major with channels last. `zero` and `unit`: a client sends zero + unit × value; lists have
 * a number for each channel. axis: what its columns are. alphabet: its
 * positions are one-hot. ink: large values of an image are dark. */
export interface Signal {
  shape: number[]; values: ArrayLike<number>; zero?: number | number[]; unit?: number | number[]; axis?: { unit: string; length: number }; ink?: boolean; alphabet?: Alphabet | null;
}
export type Look = "image" | "lines" | "letters" | "spectrogram";

const LINES = 12; // a signal with more channels is drawn as a spectrogram
export const LETTER = 9; // width of a letter in pixels

/** A sequence of letters as a signal. */
export function spelled(letters: string, cols: number, alphabet: Alphabet): Signal {
  const channels = alphabet.symbols.length, values = new Float32Array(cols * channels);
  [...letters].forEach((letter, x) => { const at = alphabet.symbols.indexOf(letter); if (at >= 0) values[x * channels + at] = 1; });
  return { shape: [1, cols, channels], values, axis: { unit: alphabet.unit, length: cols }, alphabet };
}

export function lookOf(signal: Signal): Look {
  const [rows, , channels = 1] = signal.shape;
  if (rows > 1) return "image";
  return signal.alphabet ? "letters" : channels <= LINES ? "lines" : "spectrogram";
}

/** A value of a channel in the units of the client's data. */
export function ownValue({ zero = 0, unit = 1 }: Signal, value: number, channel: number): number {
  const of = (scale: number | number[]) => (typeof scale === "number" ? scale : scale[channel]);
  return of(zero) + of(unit) * value;
}

/** The part of a canvas, in pixels, in which the values are drawn. The rest contains the axes and, above a sequence, the marks of motifs. */
export interface Box { left: number; top: number; width: number; height: number }
export const MARKS = 26; // pixels above a sequence
export function boxOf(look: Look, width: number, height: number): Box {
  if (look === "image") return { left: 0, top: 0, width, height };
  const left = look === "letters" ? 0 : 40, below = look === "letters" ? 16 : 32;
  return { left, top: MARKS, width: width - left - (look === "letters" ? 0 : 8), height: height - MARKS - below };
}

/** Round numbers in [low, high], about `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? power;
  const out: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

export interface Axes { x: string; xEnd: number; y: string; low: number; high: number }

/** The axes of a sequence. */
function axesOf(look: Look, signal: Signal): Axes {
  const [, cols, channels = 1] = signal.shape, [low, high] = look === "lines" ? bounds(signal.values) : [0, channels];
  const axis = signal.axis ?? { unit: "", length: cols }, own = Array.isArray(signal.unit); // then lines show deviations
  return { x: axis.unit === "s" ? "time in s" : axis.unit ? `position in ${axis.unit}` : "position", xEnd: axis.length, y: look === "lines" ? (channels > 1 ? "channel" : own ? "scaled" : "value") : "band",
    low: look === "lines" && !own ? ownValue(signal, low, 0) : low, high: look === "lines" && !own ? ownValue(signal, high, 0) : high };
}

function paintAxes(c: CanvasRenderingContext2D, box: Box, axes: Axes, look: Look, lanes: number): void {
  c.font = "10px Inter, system-ui, sans-serif";
  c.fillStyle = colour("muted");
  c.strokeStyle = colour("edge");
  c.lineWidth = 1;
  c.strokeRect(box.left + 0.5, box.top + 0.5, box.width - 1, box.height - 1);
  c.textAlign = "center";
  c.textBaseline = "top";
  for (const tick of ticks(0, axes.xEnd, box.width / 70)) {
    const x = box.left + (tick / axes.xEnd) * box.width;
    c.fillRect(x, box.top + box.height, 1, 3);
    c.fillText(String(tick), Math.min(Math.max(x, 12), box.left + box.width - 8), box.top + box.height + 4);
  }
  if (look === "letters") return;
  c.fillText(axes.x, box.left + box.width / 2, box.top + box.height + 18);
  c.textAlign = "right";
  c.textBaseline = "middle";
  if (look === "lines" && lanes > 1) for (let k = 0; k < lanes; k++) {
    c.fillText(String(k + 1), box.left - 5, box.top + (k + 0.5) * box.height / lanes);
    if (k > 0) c.fillRect(box.left, Math.round(box.top + k * box.height / lanes), box.width, 0.5);
  } else if (axes.high > axes.low) for (const tick of ticks(axes.low, axes.high, box.height / 34)) {
    const y = box.top + box.height * (1 - (tick - axes.low) / (axes.high - axes.low));
    c.fillRect(box.left - 3, y, 3, 1);
    c.fillText(String(tick), box.left - 5, Math.min(Math.max(y, box.top + 5), box.top + box.height - 5));
  }
  c.textAlign = "left";
  c.textBaseline = "bottom";
  c.fillText(axes.y, 0, box.top - 4);
}

/** Each channel has a lane of its own, in which it fills the height. */
function paintLines(c: CanvasRenderingContext2D, signal: Signal, box: Box): void {
  const [, cols, channels = 1] = signal.shape, high = box.height / channels;
  for (let k = 0; k < channels; k++) {
    const [low, most] = bounds(Array.from({ length: cols }, (_, x) => signal.values[x * channels + k])), span = most - low || 1, top = box.top + k * high;
    c.beginPath();
    for (let x = 0; x < cols; x++) {
      const px = box.left + ((x + 0.5) / cols) * box.width, py = top + high * (1 - (signal.values[x * channels + k] - low) / span * 0.94 - 0.03);
      if (x === 0) c.moveTo(px, py);
      else c.lineTo(px, py);
    }
    c.lineWidth = 1.25;
    c.strokeStyle = channels === 1 ? colour("ink") : seriesColour(k);
    c.stroke();
  }
}

function paintLetters(c: CanvasRenderingContext2D, signal: Signal, box: Box): void {
  const [, cols, channels] = signal.shape, wide = box.width / cols, size = Math.min(15, wide * 1.35), { symbols, colours, unknown } = signal.alphabet!;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.font = `600 ${size}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
  for (let x = 0; x < cols; x++) {
    const at = symbols.findIndex((_, k) => signal.values[x * channels + k] === 1);
    c.fillStyle = at < 0 ? colour("faint") : hueColour(colours[at]);
    if (wide < 4) c.fillRect(box.left + x * wide, box.top, Math.max(1, wide), box.height);
    else c.fillText(at < 0 ? unknown : symbols[at], box.left + (x + 0.5) * wide, box.top + box.height / 2);
  }
}

/** Paints an image of three channels in its colours. */
function paintColours(c: CanvasRenderingContext2D, signal: Signal, box: Box): void {
  const [rows, cols] = signal.shape, [low, high] = bounds(signal.values), bitmap = Object.assign(document.createElement("canvas"), { width: cols, height: rows });
  const small = bitmap.getContext("2d")!, image = small.createImageData(cols, rows);
  for (let i = 0; i < rows * cols; i++) image.data.set([...[0, 1, 2].map((k) => 255 * (signal.values[i * 3 + k] - low) / (high - low || 1)), 255], i * 4);
  small.putImageData(image, 0, 0);
  c.imageSmoothingEnabled = false;
  c.drawImage(bitmap, box.left, box.top, box.width, box.height);
}

/** Paints an input into the box, without axes. */
export function paintValues(c: CanvasRenderingContext2D, signal: Signal, look: Look, box: Box): void {
  if (look === "lines") return paintLines(c, signal, box);
  if (look === "letters") return paintLetters(c, signal, box);
  const [rows, cols, channels = 1] = signal.shape;
  if (look === "image" && channels === 3) return paintColours(c, signal, box);
  const high = look === "image" ? rows : channels;
  const grid = { rows: high, cols, values: new Float32Array(high * cols) };
  for (let y = 0; y < high; y++) for (let x = 0; x < cols; x++) grid.values[y * cols + x] = signal.values[look === "image" ? (y * cols + x) * channels : x * channels + (channels - 1 - y)];
  const [low, most] = bounds(grid.values);
  paintGrid(c, grid, [box.left, box.top, box.width, box.height], low, most, look !== "image" || signal.ink ? "picture" : "bright");
}

/** Paints an input with its axes over the whole canvas. */
export function paintSignal(c: CanvasRenderingContext2D, signal: Signal, w: number, h: number): void {
  const look = lookOf(signal), box = boxOf(look, w, h);
  paintValues(c, signal, look, box);
  if (look !== "image") paintAxes(c, box, axesOf(look, signal), look, signal.shape[2] ?? 1);
}

/** Paints a sequence logo: at each position the letters, as high as the information that the aligned sequences have there.
 * counts: [position][symbol]. information: bits of each position, where the daemon has corrected them for few sequences. */
export function paintLogo(c: CanvasRenderingContext2D, { symbols, colours }: Alphabet, counts: number[][], w: number, h: number, information?: number[]): void {
  const wide = w / counts.length, most = Math.log2(symbols.length);
  c.textAlign = "center";
  c.textBaseline = "alphabetic";
  c.font = `700 ${wide}px "DejaVu Sans", Arial, sans-serif`;
  counts.forEach((column, x) => {
    const total = column.reduce((a, b) => a + b, 0) || 1, shares = column.map((n) => n / total);
    const bits = information ? information[x] : most + shares.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
    let y = h;
    for (const [at, share] of shares.map((p, k): [number, number] => [k, p]).sort((a, b) => a[1] - b[1])) {
      const high = share * bits / most * h;
      if (high < 0.5) continue;
      const box = c.measureText(symbols[at]), tall = box.actualBoundingBoxAscent || wide;
      c.save();
      c.translate(x * wide + wide / 2, y);
      c.scale(wide * 0.95 / (box.width || wide), high / tall);
      c.fillStyle = hueColour(colours[at]);
      c.fillText(symbols[at], 0, 0);
      c.restore();
      y -= high;
    }
  });
}
