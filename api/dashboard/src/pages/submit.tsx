// The form that submits a job, made from the tables of /v1/kinds. After each change the page sends a dry run, and shows every error of the
// daemon's answer beside the field that its pointer names.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, idempotencyKey, kinds, Problem, send, type Fault as FieldFault, type Field, type Job, type Json, type Kind, type Preset } from "../api";
import { bytes, duration, number } from "../format";
import { go, note, route } from "../router";
import { Choice, Facts, Fault, Section, useLoad } from "../ui/base";

interface Estimate { parameters: number; samples: number; flops: number; bytes: number; checkpoint_bytes: number; predicted_seconds: number; config: Record<string, Json>; prediction: { basis: string } }
type Texts = Record<string, string>;

/** The JSON value of a text in the form. A text that is no number stays text, so that the daemon reports the error. */
function value(field: Field, text: string): Json {
  if (field.type === "boolean") return text === "true";
  if (field.type === "integer" || field.type === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  return text;
}

function Input({ field, text, set, fault, usual }: { field: Field; text: string | undefined; set: (text: string | null) => void; fault?: string; usual: Json }) {
  const id = `f-${field.name}`, shown = text ?? String(usual ?? "");
  const common = { id, "aria-invalid": fault ? true : undefined, "aria-describedby": `${id}-m${fault ? ` ${id}-e` : ""}` } as const;
  const change = (e: Event) => { const now = (e.currentTarget as HTMLInputElement).value; set(now === String(usual ?? "") ? null : now); };
  const options = field.type === "boolean" ? ["true", "false"] : field.choices;
  return (
    <div class={`field ${text !== undefined ? "changed" : ""}`}>
      <label for={id}>{field.name}{field.unit && <span class="muted"> {field.unit}</span>}</label>
      {options ? <select {...common} value={shown} onChange={change}>{options.map((o) => <option key={o} value={o}>{o}</option>)}</select>
        : <input {...common} value={shown} inputMode={field.type === "text" ? "text" : "decimal"} autocomplete="off" spellcheck={false} onInput={change} />}
      {fault && <p class="wrong" id={`${id}-e`} role="alert">{fault}</p>}
      <p class="meaning" id={`${id}-m`}>{field.meaning}<span class="allowed"> {field.allowed}</span></p>
    </div>
  );
}

const faultOf = (faults: FieldFault[], pointer: string) => faults.find((f) => f.pointer === pointer)?.detail;

function EstimateBox({ estimate }: { estimate: Estimate }) {
  return (
    <Facts items={[["Predicted time", duration(estimate.predicted_seconds)], ["Parameters", number(estimate.parameters)], ["Samples", number(estimate.samples)],
      ["Operations", `${number(estimate.flops)} FLOP`], ["Memory", bytes(estimate.bytes)], ["Size of a checkpoint", bytes(estimate.checkpoint_bytes)]]} />
  );
}

/** Sends a dry run of the form 250 ms after its last change. */
function useJudge(body: Record<string, Json> | null) {
  const [state, setState] = useState<{ estimate: Estimate | null; faults: FieldFault[]; fault: unknown }>({ estimate: null, faults: [], fault: null });
  const text = JSON.stringify(body);
  useEffect(() => {
    if (!body) return undefined;
    let gone = false;
    const timer = setTimeout(() => {
      send<Estimate>("POST", "/v1/jobs?dry_run=1", body).then(
        (estimate) => { if (!gone) setState({ estimate, faults: [], fault: null }); },
        (e) => { if (!gone) setState(e instanceof Problem && e.status === 422 ? { estimate: null, faults: e.faults, fault: null } : { estimate: null, faults: [], fault: e }); },
      );
    }, 250);
    return () => { gone = true; clearTimeout(timer); };
  }, [text]);
  return state;
}

/** Used for a kind without presets: all fields have their defaults. */
const NO_PRESET: Preset = { name: "defaults", meaning: "Every field has its default value.", settings: {}, config: {} };

function FormOf({ all, like }: { all: Kind[]; like: Job | null }) {
  const q = route.value.query;
  const kind = all.find((k) => k.kind === (q.get("kind") ?? like?.kind)) ?? all[0];
  const presets = kind.presets.length > 0 ? kind.presets : [NO_PRESET];
  const presetName = q.get("preset") ?? (like?.kind === kind.kind ? like.preset ?? presets[0].name : presets[0].name);
  const preset = presets.find((p) => p.name === presetName) ?? presets[0];
  const [texts, setTexts] = useState<Texts>(() => (like && like.kind === kind.kind ? Object.fromEntries(Object.entries(like.config).filter(([n, v]) => preset.config[n] !== undefined && preset.config[n] !== v).map(([n, v]) => [n, String(v)])) : {}));
  const [name, setName] = useState(""), [priority, setPriority] = useState("0"), [search, setSearch] = useState("");
  const [failed, setFailed] = useState<unknown>(null), [busy, setBusy] = useState(false);
  const key = useRef(idempotencyKey());
  const config = Object.fromEntries(kind.fields.filter((f) => texts[f.name] !== undefined).map((f) => [f.name, value(f, texts[f.name])]));
  const body: Record<string, Json> = { kind: kind.kind, preset: preset === NO_PRESET ? null : preset.name, config };
  if (name.trim()) body.name = name.trim();
  if (priority.trim() !== "0") body.priority = Number.isFinite(Number(priority)) && priority.trim() ? Number(priority) : priority;
  const judged = useJudge(body);
  const set = (field: string) => (text: string | null) => setTexts((now) => {
    const next = { ...now };
    if (text === null) delete next[field];
    else next[field] = text;
    return next;
  });
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      const job = await send<Job>("POST", "/v1/jobs", body, { "Idempotency-Key": key.current });
      go(`jobs/${job.id}`);
    } catch (problem) {
      setFailed(problem);
      key.current = idempotencyKey();
    }
    setBusy(false);
  };
  const pick = (changes: Record<string, string | null>) => { setTexts({}); note({ like: null, ...changes }); };
  const judgedNames = new Set(judged.faults.map((f) => f.pointer?.split("/")[2]));
  const own = useMemo(() => new Set(["seed", "total_samples", ...Object.keys(preset.settings)]), [preset]);
  const matches = (f: Field) => `${f.name} ${f.meaning}`.toLowerCase().includes(search.toLowerCase());
  const first = kind.fields.filter((f) => own.has(f.name) || texts[f.name] !== undefined || judgedNames.has(f.name));
  const rest = kind.fields.filter((f) => !first.includes(f));
  const input = (f: Field) => <Input key={f.name} field={f} text={texts[f.name]} set={set(f.name)} usual={preset.config[f.name] ?? f.default} fault={faultOf(judged.faults, `/config/${f.name}`)} />;
  const loose = judged.faults.filter((f) => !f.pointer?.startsWith("/config/") || !kind.fields.some((field) => f.pointer === `/config/${field.name}`));
  return (
    <form class="submit" onSubmit={(e) => void submit(e)}>
      <div class="main">
        <Section title="What">
          <div class="grid-fields">
            <Choice label="Kind" value={kind.kind} options={all.map((k) => [k.kind, k.kind])} onChange={(v) => pick({ kind: v, preset: null })} />
            <Choice label="Preset" value={preset.name} options={presets.map((p) => [p.name, p.name])} onChange={(v) => pick({ kind: kind.kind, preset: v })} />
            <label class="choice"><span>Name</span><input value={name} maxLength={127} placeholder={preset.name} onInput={(e) => setName((e.currentTarget as HTMLInputElement).value)} /></label>
            <label class="choice"><span>Priority</span><input value={priority} inputMode="numeric" onInput={(e) => setPriority((e.currentTarget as HTMLInputElement).value)} /></label>
          </div>
          <p><strong>{kind.title}.</strong> {kind.summary}</p>
          <p class="muted">{preset.name}: {preset.meaning}.</p>
        </Section>
        <Section title="Configuration" aside={Object.keys(texts).length > 0 ? <button type="button" class="small" onClick={() => setTexts({})}>{Object.keys(texts).length} changed: undo</button> : undefined}>
          <input type="search" class="find" placeholder={`Find among ${kind.fields.length} fields`} aria-label="Find a field" value={search} onInput={(e) => setSearch((e.currentTarget as HTMLInputElement).value)} />
          <div class="fields">{first.filter(matches).map(input)}</div>
          <details open={search !== "" || undefined} class="rest"><summary>{rest.filter(matches).length} further fields</summary><div class="fields">{rest.filter(matches).map(input)}</div></details>
        </Section>
      </div>
      <aside>
        <Section title="Estimate">
          {judged.estimate ? <><EstimateBox estimate={judged.estimate} /><p class="muted">Speed: {judged.estimate.prediction.basis}.</p></> : judged.faults.length > 0 ? <p class="wrong" role="status">{judged.faults.length === 1 ? "One field is" : `${judged.faults.length} fields are`} not as they must be.</p> : <p class="muted">…</p>}
          {loose.map((f) => <p class="wrong" key={f.pointer}><code>{f.pointer}</code> {f.detail}</p>)}
          <Fault fault={judged.fault ?? failed} />
          <button class="primary big" disabled={busy || judged.faults.length > 0}>Submit</button>
        </Section>
      </aside>
    </form>
  );
}

export function SubmitPage() {
  const like = route.value.query.get("like");
  const loaded = useLoad(`form ${like}`, async (signal) => ({ all: await kinds(), like: like ? await get<Job>(`/v1/jobs/${like}`, signal) : null }));
  useEffect(() => { document.title = "New job · motifd"; }, []);
  return (
    <>
      <div class="page-head"><h1>New job</h1></div>
      <Fault fault={loaded.fault} />
      {loaded.data && <FormOf all={loaded.data.all} like={loaded.data.like} />}
    </>
  );
}
