// An input with its motifs, their extents, and true boxes. The user can draw on an image.
import { useMemo, useRef } from "preact/hooks";
import { number, percent } from "../../format";
import { Canvas } from "../../ui/canvas";
import { channelColour, channelInk } from "../../ui/channel";
import { boxOf, LETTER, lookOf, MARKS, paintSignal, type Box, type Signal } from "../../ui/signal_picture";
import { colour } from "../../ui/theme";
import type { Motif, Read, Side, Truth, Upload } from "./types";

export const symbol = (read: Read): string => (typeof read === "string" ? read : `${read.class} at ${read.position}`);
export const sentence = (list: Read[] | undefined): string => (list?.length ? list.map(symbol).join("  ") : "nothing");
const MOST_WIDE = 12000; // pixels of a sequence of letters; browsers limit the size of a canvas

const FONT = "600 10px Inter, system-ui, sans-serif";
const short = (name: string) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

/** The name of a motif with an arrow for its strand, if the model reads both strands. */
function signed(motif: Motif, nameOf: (channel: number) => string): string {
  const name = short(nameOf(motif.channel).replace(/^channel /, ""));
  return motif.strand ? `${name} ${motif.strand === "-" ? "←" : "→"}` : name;
}

/** The left end and the width of a motif's name, which stands beside its mark. */
function place(c: CanvasRenderingContext2D, x: number, text: string, right: number): [number, number] {
  c.font = FONT;
  const wide = c.measureText(text).width + 6;
  return [Math.max(0, x + 7 + wide > right ? Math.min(x - 7, right) - wide : x + 7), wide];
}

/** Paints one motif; motifs of channels that are not selected are pale. name: "" paints the mark only. */
function mark(c: CanvasRenderingContext2D, x: number, y: number, motif: Motif, name: string, channel: number | null, right: number): void {
  const chosen = motif.channel === channel;
  c.globalAlpha = channel === null || chosen ? 1 : 0.35;
  c.beginPath();
  c.arc(x, y, motif.maximal ? 4.5 : 2.5, 0, 2 * Math.PI);
  c.fillStyle = channelColour(motif.channel);
  c.fill();
  c.lineWidth = chosen ? 2.5 : 1.25;
  c.strokeStyle = colour("ink");
  c.stroke();
  if (motif.maximal && name) tag(c, x, y, motif, name, right, channel);
}

/** Paints the name of a motif to the right of x, or to the left if there is no room. */
function tag(c: CanvasRenderingContext2D, x: number, y: number, motif: Motif, name: string, right: number, channel: number | null): void {
  const [left, wide] = place(c, x, name, right);
  c.globalAlpha = channel === null || motif.channel === channel ? 1 : 0.35;
  c.fillStyle = channelColour(motif.channel);
  c.fillRect(left, y - 7, wide, 13);
  c.fillStyle = channelInk(motif.channel);
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.fillText(name, left + 3, y);
}

/** Paints the extent of a motif: a box in an image, a band over a sequence, in the colour of its channel. */
function paintExtent(c: CanvasRenderingContext2D, motif: Motif, [rows, cols]: [number, number, number], box: Box, channel: number | null): void {
  if (!motif.extent || !motif.maximal) return;
  const [r0, r1, c0, c1] = motif.extent, line = rows === 1, pale = channel !== null && motif.channel !== channel;
  const x = box.left + (c0 / cols) * box.width, wide = Math.max(1, ((c1 - c0) / cols) * box.width), y = line ? box.top : (r0 / rows) * box.height, high = line ? box.height : ((r1 - r0) / rows) * box.height;
  c.strokeStyle = c.fillStyle = channelColour(motif.channel);
  c.globalAlpha = (line ? 0.24 : 0.1) * (pale ? 0.4 : 1);
  c.fillRect(x, y, wide, high);
  c.globalAlpha = pale ? 0.35 : 1;
  if (line) c.fillRect(x, MARKS - 4, wide, 3);
  else {
    c.lineWidth = 3.5;
    c.strokeStyle = "rgb(0 0 0 / 55%)"; // colours must be visible on bright and on dark pixels
    c.strokeRect(x, y, wide, high);
    c.lineWidth = 2;
    c.strokeStyle = channelColour(motif.channel);
    c.strokeRect(x, y, wide, high);
  }
  c.globalAlpha = 1;
}

/** What the marks of a picture mean. */
export function Legend({ truth }: { truth: boolean }) {
  return <p class="marks-legend muted"><span><i class="box-sign" aria-hidden="true" />extent of a motif, in the colour of its channel</span>{truth && <span><i class="box-sign true-sign" aria-hidden="true" />true position</span>}</p>;
}

interface Props {
  shape: [number, number, number]; side: Side; truth: Truth[] | null; input?: Signal; upload: Upload | null; all: boolean;
  channel: number | null; nameOf: (channel: number) => string; label: string; small?: boolean; onPick?: (motif: Motif) => void; onDraw?: (x: number, y: number, begin: boolean) => void;
}

export function InputPicture({ shape, side, truth, input, upload, all, channel, nameOf, label, small, onPick, onDraw }: Props) {
  const [rows, cols] = shape, shown = side.motifs.filter((m) => all || m.maximal), line = rows === 1, look = input ? lookOf(input) : line ? "lines" : "image";
  const ratio = line ? 0.36 + 0.05 * (look === "lines" ? (input?.shape[2] ?? 1) - 1 : 0) : rows / cols, wide = look === "letters" ? Math.min(MOST_WIDE, Math.max(480, cols * LETTER)) : null;
  const at = (m: Motif, box: Box): [number, number] => [box.left + ((m.position[1] + 0.5) / cols) * box.width, line ? MARKS / 2 : ((m.position[0] + 0.5) / rows) * box.height];
  const pressed = useRef(false);
  const draw = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number) => {
    const box = boxOf(look, w, h);
    c.fillStyle = colour("sunken");
    c.fillRect(0, 0, w, h);
    if (upload?.bitmap) {
      c.imageSmoothingEnabled = false;
      c.drawImage(upload.bitmap, 0, 0, w, h);
    } else if (input) paintSignal(c, input, w, h);
    for (const m of shown) paintExtent(c, m, shape, box, channel);
    for (const t of truth ?? []) {
      const [r0, r1, c0, c1] = t.box, x = box.left + (c0 / cols) * box.width, y = line ? box.top + 1 : (r0 / rows) * h;
      c.lineWidth = 1.5;
      c.setLineDash([5, 3]);
      c.strokeStyle = colour("truth");
      c.strokeRect(x, y, ((c1 - c0) / cols) * box.width, line ? box.height - 2 : ((r1 - r0) / rows) * h);
      c.setLineDash([]);
      if (small) continue;
      c.fillStyle = colour("truth");
      c.font = "600 12px Inter, system-ui, sans-serif";
      c.textAlign = "left";
      c.textBaseline = "bottom";
      c.fillText(t.symbol, x, line ? box.top + box.height - 2 : y > 14 ? y - 1 : y + 14);
    }
    const ends = [0, 0]; // where the last name in each of the two rows above a sequence ends
    for (const m of [...shown.filter((s) => !s.maximal), ...shown.filter((s) => s.maximal).sort((a, b) => (line ? a.position[1] - b.position[1] : 0))]) {
      let [x, y] = at(m, box), name = signed(m, nameOf);
      if (line) {
        c.fillStyle = channelColour(m.channel);
        c.globalAlpha = m.extent && m.maximal ? 0.5 : 1;
        c.fillRect(x - 0.5, MARKS / 2, 1, box.top + box.height - MARKS / 2);
        c.globalAlpha = 1;
      }
      if (line && m.maximal) { // a name that would cover another one goes into the second row, or is left out
        const [left, wide] = place(c, x, name, w), row = ends.findIndex((end) => end <= Math.min(left, x - 5));
        if (row < 0) name = "";
        else ends[row] = Math.max(left + wide, x + 5);
        y = MARKS * (row === 1 ? 0.74 : 0.26);
      }
      if (!line && m.maximal && m.extent) { // the name stands at the corner of the extent
        const [r0, , c0] = m.extent;
        [x, y] = [Math.max(4, (c0 / cols) * box.width), Math.max(7, (r0 / rows) * box.height)];
        tag(c, x - 7, y, m, name, w, channel);
      } else mark(c, x, y, m, name, channel, w);
    }
    c.globalAlpha = 1;
  }, [side, truth, input, upload, all, channel, nameOf]);
  const near = (x: number, y: number) => {
    const unit: Box = boxOf(look, 1000, 1000 * ratio), all = shown.map((m) => { const [px, py] = at(m, unit); return { m, d: Math.hypot(px / 1000 - x, line ? 0 : py / 1000 - y * ratio) }; });
    return all.sort((a, b) => a.d - b.d)[0];
  };
  const canvas = (
    <Canvas label={label} ratio={wide ? 110 / wide : ratio} draw={draw} class={`motif-map${onDraw ? " drawing" : ""}${wide ? " letters" : ""}`} width={wide ?? undefined}
      onPoint={onPick && !onDraw ? (x, y) => { const found = near(x, y); if (found && found.d < 0.06) onPick(found.m); } : undefined}
      onPointer={onDraw && ((x, y, type) => {
        if (type === "down") pressed.current = true;
        if (pressed.current) onDraw(x, y, type === "down");
        if (type === "up") pressed.current = false;
      })} />
  );
  return wide ? <div class="scroll wide" tabIndex={0} role="region" aria-label="The sequence">{canvas}</div> : canvas;
}

export function Reading({ side, label, title }: { side: Side; label?: Read[]; title: string }) {
  if (side.numbers)
    return (
      <div class="reading"><span class="muted">{title}</span> {side.numbers.map((n) => <span key={n.name}>{n.name} <b>{number(n.value, 4)}</b>{n.true !== undefined && <span class="muted"> (true: {number(n.true, 4)})</span>} </span>)}</div>
    );
  const right = label && sentence(side.prediction) === sentence(label);
  return (
    <div class="reading"><span class="muted">{title}</span> <b>{sentence(side.prediction)}</b>
      {label && <span class={right ? "right" : "wrong"}>{right ? "correct" : `label: ${sentence(label)}`}</span>}
      {side.tokens && <span class="tokens">{side.tokens.map((t, i) => <span key={i} title={percent(t.probability)}><b>{t.token}</b> {percent(t.probability, 2)}</span>)}</span>}
    </div>
  );
}
