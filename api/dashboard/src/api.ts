// Functions that call the daemon's routes. Every failure, of the network or of the daemon, is thrown as a Problem.
import { signal } from "./signal";
import { metricsPath, storeCharts, type ChartSpec } from "./first";

export interface Progress {
  step: number | null; samples: number | null; fraction: number | null; samples_per_second: number | null;
  eta_seconds: number | null; density: number | null; target_accuracy: number | null; accuracy: number | null; stage: string | null; phase?: string | null;
}
/** A row of the plan of a training. */
export interface Phase {
  name: string; trains: string | null; objectives: string[]; samples: number | null;
  learning_rate: { from: number; to: number; curve: string } | null; until: string | null; then: string | null;
}
export type State = "queued" | "running" | "paused" | "succeeded" | "failed" | "cancelled";
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface Job {
  id: string; kind: string; preset: string | null; name: string | null; task: "train" | "evaluate"; state: State;
  requested_state: "paused" | "cancelled" | null; blocked: string | null; priority: number; threads: number; config: Record<string, Json>; facts?: Record<string, Json>;
  from: { job: string; checkpoint: number } | null; progress: Progress; study: string | null; phase?: string | null; plan?: Phase[];
  warnings?: Fault[]; owner: string | null; tags?: string[]; pinned?: boolean; expires_at?: string | null;
  result: Record<string, Json> | null; error: Record<string, Json> | null;
  created_at: string; started_at: string | null; finished_at: string | null; links: Record<string, string>;
}
export interface Field {
  name: string; type: "integer" | "number" | "boolean" | "choice" | "text"; default: Json; min?: number | null; max?: number | null;
  choices?: string[]; allowed: string; unit: string; meaning: string;
  group: string; level: "basic" | "advanced" | "research"; applies: string | null;
}
export interface Preset { name: string; meaning: string; settings: Record<string, Json>; config: Record<string, Json>; grid: Record<string, Json[]>; seeds: number }
/** A group of jobs; lists have no table. */
export interface Study {
  id: string; kind: string; preset: string | null; name: string | null; owner: string | null; state: State; grid: Record<string, Json[]>; seeds: number;
  count: number; states: Record<State, number>; fraction: number; created_at: string; finished_at: string | null; links: Record<string, string>;
}
export interface StudyRow { fields: Record<string, Json>; jobs: number; done: number; results: Record<string, { count: number; median: number | null; min: number | null; max: number | null }> }
export interface WholeStudy extends Study { jobs: Job[]; table: { fields: string[]; results: string[]; rows: StudyRow[] } }
export interface Metric { name: string; unit: string; meaning: string }
/** A file format that a query reads or writes. */
export interface FileFormat { name: string; media_type: string; endings: string[]; meaning?: string }
export interface Kind {
  kind: string; title: string; summary: string; paper: string; fields: Field[]; facts: Field[]; presets: Preset[]; metrics: Metric[];
  queries: { name: string; item: string | null; meaning: string; method: "GET" | "POST"; takes: string; draws: boolean; formats: FileFormat[]; files: FileFormat[] }[];
  comparable: boolean; charts: ChartSpec[]; panels: { view: string; title: string; query: string | null }[];
}
export interface Checkpoint {
  seq: number; step: number; samples: number; density: number | null; accuracy: number | null; bytes: number;
  stage_end: boolean; pinned: boolean; created_at: string; href: string;
}
export interface Artifact { name: string; media_type: string; bytes: number; href: string }
export type Point = [number, number | null];
export interface Series { series: Record<string, Point[]>; points: Record<string, number> }
export interface Fault { pointer?: string; parameter?: string; detail: string }

export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, detail: string, readonly faults: Fault[] = []) {
    super(detail || title);
  }
}

/** True while the daemon requires a token and the page has no valid one. */
export const locked = signal(false);
let token = sessionStorage.getItem("motifd-token") ?? "";

export function setToken(text: string): void {
  token = text.trim();
  sessionStorage.setItem("motifd-token", token);
  locked.value = false;
}

/** Drops the token, so that the cookie of a sign-in counts. */
export const forget = () => sessionStorage.removeItem("motifd-token");

/** X-Motif shows that a request with the cookie of a sign-in comes from this page. */
export function headers(more: Record<string, string> = {}): Record<string, string> {
  return token ? { ...more, Authorization: `Bearer ${token}` } : { ...more, "X-Motif": "1" };
}

async function problem(response: Response): Promise<Problem> {
  let body: { title?: string; detail?: string; errors?: Fault[] } = {};
  try {
    body = await response.json();
  } catch {
    /* a proxy's answer without a JSON body: only the status is used */
  }
  if (response.status === 401) locked.value = true;
  return new Problem(response.status, body.title ?? response.statusText, body.detail ?? "", body.errors);
}

/** Requests that boot.ts has sent. Each answer is used once and only within two seconds, because later it would be out of date. */
let early: Record<string, Promise<Response>> = (window as { early?: Record<string, Promise<Response>> }).early ?? {};
setTimeout(() => { early = {}; }, 2000);

function takeEarly(path: string, init: RequestInit): Promise<Response> | undefined {
  const answer = init.method ? undefined : early[path];
  if (answer) delete early[path];
  return answer;
}

export async function request(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
  let response: Response;
  try {
    response = await (takeEarly(path, init) ?? fetch(path, { ...init, headers: headers(init.headers) }));
  } catch (fault) {
    if ((fault as Error).name === "AbortError") throw fault;
    throw new Problem(0, "No answer", "The daemon does not respond. Check that it runs and that the network works.");
  }
  if (!response.ok) throw await problem(response);
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request(path, { signal })).json() as Promise<T>;
}

export async function send<T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<T> {
  const response = await request(path, {
    method,
    headers: body === undefined ? more : { "Content-Type": "application/json", ...more },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (response.status === 204 ? null : await response.json()) as T;
}

export interface MetricRange { names?: string[]; since?: number; until?: number; points?: number }

export function metrics(job: string, range: MetricRange, signal?: AbortSignal): Promise<Series> {
  return get(metricsPath(job, range), signal);
}

/** A random key for one submission: repeated requests with the same key create one job. */
export function idempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether a field has an effect, given the values of the other fields and of facts. `field.applies` lists clauses "FIELD=VALUE|VALUE" that must all hold. */
export function applies(field: Field, valueOf: (name: string) => Json | undefined): boolean {
  return (field.applies ?? "").split(" ").filter(Boolean).every((clause) => {
    const [name, values] = clause.split("=");
    return values.split("|").includes(String(valueOf(name)));
  });
}

/** Jobs that the table has shown. The job page shows such a job at once, before the daemon's answer arrives. */
export const seen = new Map<string, Job>();

let kindsLoading: Promise<Kind[]> | undefined;
export function kinds(): Promise<Kind[]> {
  kindsLoading ??= get<{ kinds: Kind[] }>("/v1/kinds").then((body) => { storeCharts(body.kinds); return body.kinds; }).catch((fault) => {
    kindsLoading = undefined;
    throw fault;
  });
  return kindsLoading;
}
