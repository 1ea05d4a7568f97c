// Colours of canvases come from the style sheet, so that both themes are written down in one place.
import { signal } from "@preact/signals";

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

export type Ramp = "values" | "signed" | "picture";

/** 0 to 1 → a colour between paper and full; signed: -1 to 1, blue over paper to red; picture: greys that marks stand out from. */
export function ramp(share: number, kind: Ramp = "values"): string {
  const parts = (name: string) => colour(name).split(" ").map(Number);
  const from = parts("ramp-0"), to = parts(kind === "picture" ? "ramp-grey" : kind === "values" ? "ramp-1" : share < 0 ? "ramp-minus" : "ramp-plus");
  const t = Math.min(1, Math.abs(share));
  return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * t)).join(" ")})`;
}

/** Black or white, whichever is read better on a colour that ramp gave. */
export function inkOn(background: string): string {
  const [r, g, b] = background.slice(4, -1).split(" ").map((c) => (Number(c) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/** The style of a cell of a matrix of colours. */
export function cellStyle(share: number, kind: Ramp = "values"): { background: string; color: string } {
  const background = ramp(share, kind);
  return { background, color: inkOn(background) };
}
