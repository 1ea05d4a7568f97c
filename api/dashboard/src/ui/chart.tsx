// Line charts, drawn by uPlot. Zooming reports the new range to the page, which loads it. Crosshairs of charts with the same `sync` move
// together. A folded table contains the same numbers for people who use a screen reader.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Point } from "../api";
import { number, short } from "../format";
import { DataTable } from "./base";
import { colour, seriesColour, theme } from "./theme";

export interface Line { label: string; points: Point[]; dash?: boolean; dots?: boolean; step?: boolean; colour?: number | string }
export interface Band { from: number; to: number; label: string }
export interface ChartProps {
  title: string; lines: Line[]; xLabel: string; log?: boolean; logX?: boolean; reverse?: boolean; unit?: (value: number) => string;
  bands?: Band[]; bandNames?: boolean; sync?: string; range?: [number, number] | null; onRange?: (range: [number, number] | null) => void; height?: number;
}

/** colour: the number of a series colour, or a colour of its own. */
const strokeOf = (line: Line, i: number): string => (typeof line.colour === "string" ? line.colour : seriesColour(line.colour ?? i));

const FONT = "11px Inter, system-ui, sans-serif";
const ROWS = 200; // number of rows of the folded table, which shows the latest points

/** Puts all lines on one x axis. The lines of one job usually have the same x values, so that no join is needed. */
export function align(lines: Line[], log: boolean): uPlot.AlignedData {
  const y = (v: number | null) => (log && v !== null && v <= 0 ? null : v);
  const tables = lines.map((line) => [line.points.map((p) => p[0]), line.points.map((p) => y(p[1]))] as uPlot.AlignedData);
  if (tables.length === 0) return [[]];
  const first = tables[0][0];
  const same = tables.every((t) => t[0].length === first.length && t[0].every((x, i) => x === first[i]));
  return same ? [first, ...tables.map((t) => t[1])] as uPlot.AlignedData : uPlot.join(tables);
}

/** Draws every second band below the grid, or the names of the bands above it. */
function drawBands(bands: Band[], names: boolean): (u: uPlot) => void {
  return (u) => {
    const { ctx, bbox } = u, ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${10 * ratio}px Inter, system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    bands.forEach((band, i) => {
      const left = u.valToPos(band.from, "x", true), right = u.valToPos(band.to, "x", true);
      ctx.fillStyle = colour(names ? "faint" : "band");
      if (!names && i % 2 === 0) ctx.fillRect(left, bbox.top, right - left, bbox.height);
      if (names && right - left > ctx.measureText(band.label).width + 8 * ratio) ctx.fillText(band.label, left + 4 * ratio, bbox.top + 3 * ratio);
    });
    ctx.restore();
  };
}

const decades = (_u: uPlot, ticks: number[]) => ticks.map((v) => (Number.isInteger(Math.log10(v)) ? v : null));

function axes(p: ChartProps): uPlot.Axis[] {
  const grid = (log?: boolean) => ({ stroke: () => colour("grid"), width: 1, ...(log ? { filter: decades } : {}) });
  const common = { stroke: () => colour("faint"), ticks: { show: false }, font: FONT };
  return [
    { ...common, grid: grid(p.logX), size: 26, gap: 4, space: 60, values: (_u, ticks) => ticks.map((v) => (v === null ? "" : !p.logX ? short(v) : Number(v.toPrecision(1)) === v ? number(v) : "")) },
    { ...common, grid: grid(p.log), size: 58, gap: 6, space: 34,
      values: (_u, ticks) => ticks.map((v) => (v === null ? "" : p.unit ? p.unit(v) : number(v))) },
  ];
}

function options(p: ChartProps, width: number, onCursor: (u: uPlot) => void): uPlot.Options {
  return {
    width, height: p.height ?? 200, legend: { show: false }, padding: [8, 20, 0, 0],
    cursor: {
      sync: p.sync ? { key: p.sync, setSeries: false } : undefined,
      drag: { x: Boolean(p.onRange), y: false, setScale: false }, points: { size: 6 },
    },
    scales: {
      x: { time: false, distr: p.logX ? 3 : 1, dir: p.reverse ? -1 : 1, ...(p.range || p.logX ? { range: (_u: uPlot, low: number, high: number) => p.range ?? [low / 1.2, high * 1.2] as [number, number] } : {}) },
      y: p.log ? { distr: 3, range: (_u, low, high) => decade(low, high) } : { range: (_u, low, high) => spread(low, high) },
    },
    axes: axes(p),
    series: [{}, ...p.lines.map((line, i) => ({
      label: line.label, stroke: () => strokeOf(line, i), width: line.dash ? 1.25 : 1.5, dash: line.dash ? [5, 4] : undefined,
      spanGaps: true, points: { show: line.dots ?? (line.points.length < 3), size: 5, fill: () => strokeOf(line, i) },
      paths: line.step ? uPlot.paths.stepped?.({ align: -1 }) : undefined,
    }))],
    hooks: {
      drawClear: p.bands?.length ? [drawBands(p.bands, false)] : [],
      draw: p.bands?.length && p.bandNames ? [drawBands(p.bands, true)] : [],
      setCursor: [onCursor],
      setSelect: [(u) => {
        if (u.select.width > 4) {
          const ends = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")].sort((a, b) => a - b);
          p.onRange?.([ends[0], ends[1]]);
        }
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

function spread(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low - margin < 0 ? 0 : low - margin, high + margin];
}

/** A logarithmic range that ends at 1, 2 or 5 times a power of ten: whole decades would flatten a curve that changes little. */
function decade(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [1, 10];
  const steps = (v: number) => [0.5, 1, 2, 5, 10].map((s) => Number((s * 10 ** Math.floor(Math.log10(v))).toPrecision(1)));
  return [steps(low).reverse().find((s) => s <= low) ?? low, steps(high).find((s) => s > high) ?? high * 2];
}

/** The value of a line at the cursor, or the nearest value to the left of the cursor. Without a cursor, the value at the right end. */
function at(data: uPlot.AlignedData, series: number, index: number | null | undefined, reverse?: boolean): number | null {
  const values = data[series] as (number | null | undefined)[] | undefined;
  const step = reverse ? 1 : -1;
  for (let i = index ?? (reverse ? 0 : (values?.length ?? 0) - 1); values && values[i] !== undefined; i += step) if (values[i] !== null) return values[i] as number;
  return null;
}

/** Whether the values differ by more than a factor of five. A logarithmic axis over less would have too few marks. */
function spans(lines: Line[]): boolean {
  let low = Infinity, high = 0;
  for (const { points } of lines) for (const [, y] of points) if (y !== null && y > 0) [low, high] = [Math.min(low, y), Math.max(high, y)];
  return high > 5 * low;
}

export function Chart(given: ChartProps) {
  const log = useMemo(() => given.log && spans(given.lines), [given.lines, given.log]), p = { ...given, log };
  const place = useRef<HTMLDivElement>(null), plot = useRef<uPlot | null>(null);
  const readout = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState<Set<string>>(new Set());
  const [seen, setSeen] = useState(false);
  const latest = useRef(p);
  latest.current = p;
  const shape = [p.title, p.log, p.logX, p.range?.join(), p.bands?.map((b) => b.from).join(), p.lines.map((l) => l.label + (l.points.length < 3)).join("|"), theme.value].join(";");

  const show = (u: uPlot) => {
    const box = readout.current;
    if (!box) return;
    const q = latest.current, index = u.cursor.idx;
    const x = index === null || index === undefined ? null : u.data[0][index];
    box.querySelectorAll("[data-line]").forEach((node, i) => {
      const value = at(u.data, i + 1, index, q.reverse);
      node.textContent = value === null ? "–" : q.unit ? q.unit(value) : number(value);
    });
    const where = box.querySelector("[data-x]");
    if (where) where.textContent = x === null || x === undefined ? `x: ${q.xLabel}` : `${q.xLabel} ${q.logX ? number(x) : short(x)}`;
  };

  useLayoutEffect(() => { // draws visible charts before the first paint, and the others when the user scrolls near them
    const box = place.current;
    if (!box) return undefined;
    if (box.getBoundingClientRect().top < innerHeight) {
      setSeen(true);
      return undefined;
    }
    const watch = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) setSeen(true); }, { rootMargin: "200px" });
    watch.observe(box);
    return () => watch.disconnect();
  }, []);

  useLayoutEffect(() => {
    const box = place.current;
    if (!box || !seen) return undefined;
    const made = new uPlot(options(p, box.clientWidth || 300, show), align(p.lines, Boolean(p.log)), box);
    plot.current = made;
    p.lines.forEach((line, i) => { if (hidden.has(line.label)) made.setSeries(i + 1, { show: false }); });
    show(made);
    const size = new ResizeObserver(() => { if (box.clientWidth > 0) made.setSize({ width: box.clientWidth, height: p.height ?? 200 }); });
    size.observe(box);
    return () => {
      size.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [seen, shape]);

  useEffect(() => {
    const u = plot.current;
    if (!u) return;
    u.setData(align(p.lines, Boolean(p.log)), true);
    show(u);
  }, [p.lines]);

  const toggle = (label: string, index: number) => {
    const next = new Set(hidden);
    if (!next.delete(label)) next.add(label);
    setHidden(next);
    plot.current?.setSeries(index + 1, { show: !next.has(label) });
  };

  const zoom = (share: number, shift: number) => {
    const u = plot.current;
    if (!u || !p.onRange) return;
    const low = u.scales.x.min ?? 0, high = u.scales.x.max ?? 1, width = (high - low) * share, middle = (low + high) / 2 + shift * (high - low);
    p.onRange([Math.max(0, middle - width / 2), middle + width / 2]);
  };

  const key = (e: KeyboardEvent) => {
    const act = ({ "+": [0.5, 0], "-": [2, 0], ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25] } as Record<string, [number, number]>)[e.key];
    if (e.key === "0") p.onRange?.(null);
    else if (act && p.onRange) zoom(...act);
    else return;
    e.preventDefault();
  };

  const last = p.lines.map((l) => `${l.label} ${number(l.points.at(p.reverse ? 0 : -1)?.[1])}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{p.title}</span>
        <div class="legend" ref={readout}>
          {p.lines.map((line, i) => (
            <button key={line.label} type="button" class="key" aria-pressed={!hidden.has(line.label)} onClick={() => toggle(line.label, i)}>
              <i class={`swatch${line.dash ? " dash" : ""}`} style={{ color: strokeOf(line, i) }} aria-hidden="true" />{line.label} <b data-line />
            </button>
          ))}
          <span class="muted at" data-x />
          {p.range && p.onRange && <button type="button" class="small" onClick={() => p.onRange?.(null)}>show all</button>}
        </div>
      </figcaption>
      <div class="plot" ref={place} style={{ minHeight: `${p.height ?? 200}px` }} tabIndex={p.onRange ? 0 : undefined}
        role={p.onRange ? "application" : "img"} onKeyDown={key} onDblClick={() => p.onRange?.(null)}
        aria-label={`${p.title}: ${last}.${p.onRange ? " Plus and minus zoom, arrows move, zero shows all." : ""}`} />
      <DataTable caption={p.title} make={() => table(p)} />
    </figure>
  );
}

function table(p: ChartProps) {
  const data = align(p.lines, false), from = Math.max(0, data[0].length - ROWS);
  const rows = [...data[0].slice(from)].map((x, i) => [p.logX ? number(x) : String(x), ...p.lines.map((_l, s) => number((data[s + 1] as (number | null)[])[from + i], 5))]);
  return { head: [p.xLabel, ...p.lines.map((l) => l.label)], rows: rows.reverse() };
}
