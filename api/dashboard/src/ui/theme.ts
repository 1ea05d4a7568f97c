// The light and the dark theme. Canvases read their colours from the style sheet, which defines both themes.
import { signal } from "../signal";

const dark = matchMedia("(prefers-color-scheme: dark)");
const stored = localStorage.getItem("motifd-theme");
export const theme = signal<"light" | "dark">(stored === "light" || stored === "dark" ? stored : dark.matches ? "dark" : "light");
let known: Record<string, string> = {};

theme.subscribe((now) => {
  document.documentElement.dataset.theme = now;
  known = {};
});
dark.addEventListener("change", () => {
  if (!localStorage.getItem("motifd-theme")) theme.value = dark.matches ? "dark" : "light";
});

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem("motifd-theme", theme.value);
}

export function colour(name: string): string {
  known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return known[name];
}

export const SERIES = 8;
export const seriesColour = (index: number): string => colour(`s${index % SERIES}`);

const HUES: Record<string, string> = { green: "s2", blue: "s0", orange: "s5", red: "s7", purple: "s4" };
/** The tone of a colour that the daemon sends by its name (core/draw/hue.h). */
export const hueColour = (name: string): string => colour(HUES[name] ?? "muted");

export type Ramp = "values" | "signed" | "picture" | "bright";

/** The colour of a share. Kind "values": from 0 (background) to 1 (full colour). Kind "signed": from -1 (blue) to 1 (red).
 * Kind "picture": grey, so that motifs stay visible. Kind "bright": from black to white in both themes, as in a photograph. */
export function ramp(share: number, kind: Ramp = "values"): string {
  if (kind === "bright") return `rgb(${Array(3).fill(Math.round(255 * share)).join(" ")})`;
  const parts = (name: string) => colour(name).split(" ").map(Number);
  const from = parts("ramp-0"), to = parts(kind === "picture" ? "ramp-grey" : kind === "values" ? "ramp-1" : share < 0 ? "ramp-minus" : "ramp-plus");
  const t = Math.min(1, Math.abs(share));
  return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * t)).join(" ")})`;
}

/** Black or white: the text colour with the higher contrast on this background. */
export function inkOn(background: string): string {
  const [r, g, b] = background.slice(4, -1).split(" ").map((c) => (Number(c) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/** The colours of a table cell that shows a share. */
export function cellStyle(share: number, kind: Ramp = "values"): { background: string; color: string } {
  const background = ramp(share, kind);
  return { background, color: inkOn(background) };
}
