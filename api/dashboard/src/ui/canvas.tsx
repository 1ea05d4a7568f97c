// Draws arrays as pictures on a canvas, again whenever its size or the theme changes.
import { useEffect, useRef } from "preact/hooks";
import { number } from "../format";
import { ramp, theme, type Ramp } from "./theme";

export interface Grid { rows: number; cols: number; values: ArrayLike<number> }

type PointerKind = "down" | "move" | "up";

/** width: the width in pixels; without it, the canvas is as wide as its place. onPointer: draws with a mouse, a pen or a finger; x and y are
 * shares of the width and the height. */
export function Canvas({ label, ratio, draw, onPoint, onPointer, width, class: name }: {
  label: string; ratio: number; draw: (context: CanvasRenderingContext2D, width: number, height: number) => void;
  onPoint?: (x: number, y: number) => void; onPointer?: (x: number, y: number, kind: PointerKind) => void; width?: number; class?: string;
}) {
  const at = (e: MouseEvent): [number, number] => { const box = place.current!.getBoundingClientRect(); return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height]; };
  const pointer = (kind: PointerKind) => onPointer && ((e: PointerEvent) => {
    if (kind === "down") place.current!.setPointerCapture(e.pointerId);
    onPointer(...at(e), kind);
    paint();
  });
  const place = useRef<HTMLCanvasElement>(null), latest = useRef(draw);
  latest.current = draw;
  const paint = () => {
    const canvas = place.current;
    if (!canvas || !canvas.clientWidth) return;
    const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = width * ratio;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d")!;
    context.scale(scale, scale);
    latest.current(context, width, height);
  };
  useEffect(() => {
    const size = new ResizeObserver(paint);
    size.observe(place.current!);
    return () => size.disconnect();
  }, []);
  useEffect(paint, [draw, theme.value, ratio]);
  return (
    <canvas ref={place} class={`picture ${name ?? ""}`} role="img" aria-label={label} style={{ aspectRatio: `${1 / ratio}`, ...(width ? { width: `${width}px` } : {}) }}
      onClick={onPoint && ((e) => onPoint(...at(e)))} onPointerDown={pointer("down")} onPointerMove={pointer("move")} onPointerUp={pointer("up")} onPointerCancel={pointer("up")} />
  );
}

/** Paints a grid with one pixel for each value, stretched to the box without smoothing. */
export function paintGrid(context: CanvasRenderingContext2D, grid: Grid, box: [number, number, number, number], low: number, high: number, kind: Ramp): void {
  const bitmap = document.createElement("canvas");
  bitmap.width = grid.cols;
  bitmap.height = grid.rows;
  const small = bitmap.getContext("2d")!, image = small.createImageData(grid.cols, grid.rows);
  const levels = 128, known = new Map<number, number[]>();
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  for (let i = 0; i < grid.rows * grid.cols; i++) {
    const value = grid.values[i], part = kind === "signed" ? value / most : (value - low) / (high - low || 1);
    const level = Math.round(part * levels);
    let rgb = known.get(level);
    if (!rgb) known.set(level, (rgb = ramp(level / levels, kind).slice(4, -1).split(" ").map(Number)));
    image.data.set([rgb[0], rgb[1], rgb[2], Number.isFinite(value) ? 255 : 0], i * 4);
  }
  small.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmap, ...box);
}

export function bounds(values: ArrayLike<number>): [number, number] {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return [low, high];
}

/** A grid as a picture, with the scale of its colours. With negative values, the colours are symmetric around 0. text: stands beside the scale. */
export function Heat({ label, grid, ratio, text }: { label: string; grid: Grid; ratio?: number; text: string }) {
  const [least, high] = bounds(grid.values), signed = least < 0, most = signed ? Math.max(-least, high) : high, low = signed ? -most : least;
  return (
    <>
      <Canvas label={label} ratio={ratio ?? grid.rows / grid.cols} draw={(c, w, h) => paintGrid(c, grid, [0, 0, w, h], low, most, signed ? "signed" : "values")} />
      <p class="scale"><span>{number(low)}</span><i class={signed ? "diverging" : ""} aria-hidden="true" /><span>{number(most)}</span><span class="muted">{text}</span></p>
    </>
  );
}
