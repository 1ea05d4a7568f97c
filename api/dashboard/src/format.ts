// Formats numbers, sizes and times for people.
export const DASH = "–";

export function number(value: unknown, digits = 3): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return DASH;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString("en");
  if (size >= 1e6 || size < 1e-3) return exponent(value, digits - 1);
  const round = Number(value.toPrecision(digits));
  return size < 1000 ? String(round) : round.toLocaleString("en");
}

/** 1.8 × 10⁻⁴ */
export function exponent(value: number, digits = 1): string {
  const [mantissa, power] = value.toExponential(digits).split("e");
  const raised = String(Number(power)).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)]));
  return Number(mantissa) === 1 ? `10${raised}` : `${Number(mantissa)}×10${raised}`;
}

export function percent(value: unknown, digits = 3): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return DASH;
  return `${value === 0 ? "0" : Number((value * 100).toPrecision(digits))} %`;
}

export function bytes(value: unknown): string {
  if (typeof value !== "number") return DASH;
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(value || 1) / 3)));
  return `${Number((value / 1000 ** at).toPrecision(3))} ${units[at]}`;
}

export function duration(seconds: unknown): string {
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 0) return DASH;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ""}`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.round(s / 86400)} days`;
}

export function ago(time: string | null): string {
  if (!time) return DASH;
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

export function moment(time: string | null): string {
  return time ? new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }) : DASH;
}

/** 12000 → 12 k, for the axes of charts. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(4))} G`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))} k`;
  return String(Number(value.toPrecision(6)));
}

export function title(job: { name: string | null; preset: string | null; kind: string }): string {
  return job.name ?? job.preset ?? job.kind;
}

export const ERRORS: [string, string][] = [["fpe", "false positives (FPE)"], ["fne", "false negatives (FNE)"], ["ce", "confusion (CE)"], ["e2ee", "end to end (E2EE)"], ["exact", "exact match"], ["r2", "R squared"]];

/** Readable labels of metrics whose names in the API are abbreviations. */
const NAMES = new Map([
  ...ERRORS,
  ["ce_assignment", "confusion, channels matched one to one"], ["ce_majority", "confusion, channels named by majority"],
  ["e_m", "error of the proof (E_m)"], ["welch_floor", "Welch bound of the coherence"], ["single_error", "single-motif error"], ["perturbed", "changed labels predicted as changed"],
  ["mcc", "mean correlation (MCC)"], ["mse", "squared error (MSE)"], ["mse_unseen", "MSE in unseen environments"], ["linear_r2", "R squared of a linear fit"], ["nll", "negative log likelihood (NLL)"], ["dci", "disentanglement (DCI)"],
  ["pw_mcc", "agreement of seeds (PW-MCC)"], ["l0", "active latents (l0)"], ["dead", "dead latents"], ["recurring", "latents in every seed"], ["worth", "latents worth a look"],
]);
export const nameOf = (name: string): string => NAMES.get(name) ?? name.replaceAll("_", " ");

/** Metrics that are shown as percentages. */
const SHARES = new Set([...ERRORS.map(([name]) => name), "ce_majority", "ce_assignment", "e_m", "single_error", "perturbed", "accuracy", "dropped"]);

export const isShare = (name: string): boolean => SHARES.has(name);

export const plain = (value: unknown): boolean => value === null || typeof value !== "object";
/** A value of a result or a configuration as text. */
export const show = (name: string, value: unknown): string =>
  typeof value === "boolean" ? (value ? "yes" : "no") : typeof value === "number" ? (isShare(name) ? percent(value) : number(value, 4)) : value === null ? "–" : String(value);

/** Figures that only readers of the papers need: terms of the theory, and variants of the errors. */
const RESEARCH = new Set(["e_m", "single_error", "perturbed", "ce_majority", "ce_assignment", "coherence", "welch_floor"]);
export const isResearch = (name: string): boolean => RESEARCH.has(name);
