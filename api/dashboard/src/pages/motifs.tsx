// The motif explorer: an input with the motifs that the model found, the use of one channel, and the prediction after motifs are changed.
import { useMemo, useRef, useState } from "preact/hooks";
import { get, Problem, send, type Checkpoint, type Job } from "../api";
import { number, percent } from "../format";
import { note, route } from "../router";
import { Choice, Fault, Section, Table, useLoad } from "../ui/base";
import { bounds, Canvas, paintGrid } from "../ui/canvas";
import { Chart } from "../ui/chart";
import { colour, seriesColour } from "../ui/theme";

interface Motif { position: [number, number]; channel: number; value: number; maximal: boolean }
interface Truth { symbol: string; box: [number, number, number, number] }
type Read = string | { position: number; class: string; probability?: number };
interface Side { motif_count: number; motifs: Motif[]; prediction: Read[]; tokens?: { token: string; probability: number }[]; probability?: number }
interface Answer extends Side { shape: [number, number, number]; truth: Truth[] | null; label?: Read[]; input?: { shape: number[]; values: number[] } }
interface Intervened { shape: [number, number, number]; before: Side; after: Side; truth: Truth[] | null; label?: Read[] }
interface Answers<T> { checkpoint: { seq: number; density: number | null }; answers: T[] }
type Edit = { channel: number; position?: [number, number]; delete?: true; to?: { channel: number } };
interface Upload { name: string; type: string; data: string; bitmap: ImageBitmap | null }
type Source = { sample: { seed: number } } | { data: string; type: string };

const TYPES: Record<string, string> = { png: "image/png", wav: "audio/wav", npy: "application/x-npy" };

async function take(file: File): Promise<Upload> {
  const type = TYPES[file.name.split(".").pop()?.toLowerCase() ?? ""];
  if (!type) throw new Problem(0, "Unknown file type", "Choose a .png, .wav or .npy file.");
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return { name: file.name, type, data: btoa(text), bitmap: type === "image/png" ? await createImageBitmap(file) : null };
}

const pickOf = (text: string): string | number => (/^\d+$/.test(text) ? Number(text) : text);
const symbol = (read: Read): string => (typeof read === "string" ? read : `${read.class} at ${read.position}`);
const sentence = (list: Read[] | undefined): string => (list?.length ? list.map(symbol).join("  ") : "nothing");

/** Paints the input. If it has one row and many channels (a recording or a sequence), the channels are the vertical axis. */
function paintInput(c: CanvasRenderingContext2D, w: number, h: number, answer: { input?: Answer["input"] }, upload: Upload | null): void {
  c.fillStyle = colour("sunken");
  c.fillRect(0, 0, w, h);
  if (upload?.bitmap) {
    c.imageSmoothingEnabled = false;
    c.drawImage(upload.bitmap, 0, 0, w, h);
    return;
  }
  if (!answer.input) return;
  const [rows, cols, channels = 1] = answer.input.shape, values = answer.input.values;
  const line = rows === 1 && channels > 1;
  const grid = { rows: line ? channels : rows, cols, values: new Float32Array((line ? channels : rows) * cols) };
  for (let y = 0; y < grid.rows; y++) for (let x = 0; x < cols; x++) {
    const source = line ? x * channels + (channels - 1 - y) : (y * cols + x) * channels;
    grid.values[y * cols + x] = values[source];
  }
  const [low, high] = bounds(grid.values);
  paintGrid(c, grid, [0, 0, w, h], low, high, "picture");
}

/** Paints one motif; motifs of channels that are not selected are pale. */
function mark(c: CanvasRenderingContext2D, x: number, y: number, motif: Motif, channel: number | null): void {
  const chosen = motif.channel === channel;
  c.globalAlpha = channel === null || chosen ? 1 : 0.35;
  c.beginPath();
  c.arc(x, y, motif.maximal ? 7 : 2.5, 0, 2 * Math.PI);
  c.fillStyle = seriesColour(motif.channel);
  c.fill();
  c.lineWidth = chosen ? 3 : 1.25;
  c.strokeStyle = chosen ? colour("ink") : colour("paper");
  c.stroke();
  if (!motif.maximal) return;
  c.fillStyle = colour("on-series");
  c.font = "600 9px Inter, system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(String(motif.channel), x, y + 0.5);
}

function InputPicture({ shape, side, truth, input, upload, all, channel, label, onPick }: {
  shape: [number, number, number]; side: Side; truth: Truth[] | null; input?: Answer["input"]; upload: Upload | null; all: boolean;
  channel: number | null; label: string; onPick?: (motif: Motif) => void;
}) {
  const [rows, cols] = shape, shown = side.motifs.filter((m) => all || m.maximal);
  const ratio = rows === 1 ? 0.28 : rows / cols;
  const place = (m: Motif, w: number, h: number): [number, number] => [((m.position[1] + 0.5) / cols) * w, rows === 1 ? h / 2 : ((m.position[0] + 0.5) / rows) * h];
  const draw = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number) => {
    paintInput(c, w, h, { input }, upload);
    c.lineWidth = 1.25;
    for (const t of truth ?? []) {
      const [r0, r1, c0, c1] = t.box, x = (c0 / cols) * w, y = rows === 1 ? 2 : (r0 / rows) * h;
      c.strokeStyle = colour("truth");
      c.strokeRect(x, y, ((c1 - c0) / cols) * w, rows === 1 ? h - 4 : ((r1 - r0) / rows) * h);
      c.fillStyle = colour("truth");
      c.font = "600 12px Inter, system-ui, sans-serif";
      c.textAlign = "left";
      c.textBaseline = "bottom";
      c.fillText(t.symbol, x, y > 14 ? y - 1 : y + 14);
    }
    for (const m of shown.filter((s) => !s.maximal)) mark(c, ...place(m, w, h), m, channel);
    for (const m of shown.filter((s) => s.maximal)) mark(c, ...place(m, w, h), m, channel);
    c.globalAlpha = 1;
  }, [side, truth, input, upload, all, channel]);
  return (
    <Canvas label={label} ratio={ratio} draw={draw} class="motif-map" onPoint={onPick && ((x, y) => {
      const near = shown.map((m) => { const [px, py] = place(m, 1, 1); return { m, d: Math.hypot(px - x, rows === 1 ? 0 : (py - y) * ratio) }; }).sort((a, b) => a.d - b.d)[0];
      if (near && near.d < 0.06) onPick(near.m);
    })} />
  );
}

function Reading({ side, label, title }: { side: Side; label?: Read[]; title: string }) {
  const right = label && sentence(side.prediction) === sentence(label);
  return (
    <div class="reading"><span class="muted">{title}</span> <b>{sentence(side.prediction)}</b>
      {label && <span class={right ? "right" : "wrong"}>{right ? "correct" : `label: ${sentence(label)}`}</span>}
      {side.tokens && <span class="tokens">{side.tokens.map((t, i) => <span key={i} title={percent(t.probability)}><b>{t.token}</b> {percent(t.probability, 2)}</span>)}</span>}
    </div>
  );
}

interface Top { sample: number; position: [number, number]; value: number; symbol: string | null; window: [number, number, number, number] }
interface ChannelUse {
  channel: number; active: number; inputs: number; motifs: number | null; mean: number; max: number; symbol: string | null;
  symbols: { symbol: string | null; count: number }[] | null; histogram: { edges: number[]; counts: number[] }; top: Top[];
}

/** The part of an input that determines a motif. All crops have the same scale; parts outside the input stay empty. */
function Crop({ top, input, high, wide }: { top: Top; input: Answer["input"]; high: number; wide: number }) {
  const [rows, cols] = input?.shape ?? [1, 1], [r0, r1, c0, c1] = top.window, line = rows === 1;
  const draw = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number) => {
    const x = w / wide, y = line ? h : h / high;
    c.fillStyle = colour("line");
    c.fillRect(0, 0, w, h);
    c.translate((c0 === 0 ? wide - c1 : -c0) * x, line ? 0 : (r0 === 0 ? high - r1 : -r0) * y);
    paintInput(c, cols * x, line ? h : rows * y, { input }, null);
  }, [top, input]);
  return <Canvas label={`Sample ${top.sample}`} ratio={line ? 0.6 : high / wide} draw={draw} />;
}

/** One channel: the inputs with its largest activations, and the histogram of its activations. */
function ChannelPanel({ job, channel, checkpoint, close }: { job: Job; channel: number; checkpoint: string; close: () => void }) {
  const path = `/v1/jobs/${job.id}/channels/${channel}?top=8&checkpoint=${encodeURIComponent(checkpoint)}`;
  const use = useLoad(path, async (signal) => {
    const found = await get<ChannelUse>(path, signal), inputs = found.top.map((t) => ({ sample: { seed: t.sample } }));
    return { ...found, answers: inputs.length ? (await send<Answers<Answer>>("POST", `/v1/jobs/${job.id}/motifs`, { inputs, checkpoint: pickOf(checkpoint) })).answers : [] };
  });
  const u = use.data, h = u?.histogram;
  const of = (symbol: string | null) => u?.symbols?.find((s) => s.symbol === symbol)?.count ?? 0, most = (at: number) => Math.max(1, ...(u?.top.map((t) => t.window[at + 1] - t.window[at]) ?? []));
  const lines = useMemo(() => (h ? [{ label: "motifs", step: true, colour: channel, points: h.counts.map((n, i) => [h.edges[i], n] as [number, number]) }] : []), [h]);
  return (
    <Section title={`Channel ${channel}${u?.symbol && of(u.symbol) > of(null) ? ` marks ${u.symbol}` : ""}`} aside={<button type="button" class="small" onClick={close}>All channels</button>}>
      <Fault fault={use.fault} />
      {!u && use.busy && <p class="muted">Searching inputs…</p>}
      {u && <p class="muted">{u.motifs !== null ? `${number(u.motifs)} motifs` : `${number(u.active)} active positions`} in {number(u.inputs)} inputs; mean activation {number(u.mean)}, maximum {number(u.max)}.</p>}
      {u?.symbols && u.symbols.length > 0 && <p class="tokens">On {u.symbols.map((s, i) => <span key={i}><b>{s.symbol ?? "no symbol"}</b> {number(s.count)}</span>)}</p>}
      <ol class="crops" aria-label={`Inputs with the largest activations of channel ${channel}`}>{u?.top.map((t, i) => (
        <li key={i}><button type="button" class="crop" onClick={() => note({ seed: String(t.sample) })}><Crop top={t} input={u.answers[i]?.input} high={most(0)} wide={most(2)} /><span> {number(t.value)}{t.symbol !== null && ` on ${t.symbol}`}</span></button></li>
      ))}</ol>
      {lines.length > 0 && lines[0].points.length > 1 && <Chart title="Activations" lines={lines} xLabel="value" height={140} />}
    </Section>
  );
}

function Interventions({ job, source, checkpoint, edits, setEdits, input, upload, channels }: {
  job: Job; source: Source; checkpoint: string; edits: Edit[]; setEdits: (edits: Edit[]) => void; input?: Answer["input"]; upload: Upload | null; channels: number;
}) {
  const key = edits.length ? JSON.stringify([source, checkpoint, edits]) : null;
  const answer = useLoad(key, () => send<Answers<Intervened>>("POST", `/v1/jobs/${job.id}/interventions`, { inputs: [{ ...source, edits }], checkpoint: pickOf(checkpoint) }).then((a) => a.answers[0]));
  const [from, setFrom] = useState("0"), [to, setTo] = useState("delete");
  const add = () => setEdits([...edits, to === "delete" ? { channel: Number(from), delete: true } : { channel: Number(from), to: { channel: Number(to) } }]);
  const all = Array.from({ length: channels }, (_, i) => [String(i), `channel ${i}`] as [string, string]);
  const a = answer.data;
  return (
    <Section title="Interventions" aside={edits.length > 0 ? <button type="button" class="small" onClick={() => setEdits([])}>Undo all</button> : undefined}>
      <div class="tools">
        <Choice label="Motifs of" value={from} options={all} onChange={setFrom} />
        <Choice label="Change" value={to} options={[["delete", "delete"], ...all.map(([v, t]) => [v, `move to ${t}`] as [string, string])]} onChange={setTo} />
        <button type="button" onClick={add}>Apply</button>
      </div>
      <ul class="edits">{edits.map((e, i) => (
        <li key={i}>channel {e.channel}{e.position ? ` at ${e.position.join(", ")}` : ", all positions"}: {e.delete ? "deleted" : `moved to channel ${e.to?.channel}`} <button type="button" class="small" onClick={() => setEdits(edits.filter((_, j) => j !== i))}>Undo<span class="hidden"> change {i + 1}</span></button></li>
      ))}</ul>
      {edits.length === 0 && <p class="muted">Change all motifs of a channel here, or delete one motif in the table, to see how the prediction changes.</p>}
      <Fault fault={edits.length ? answer.fault : null} />
      {edits.length > 0 && a && (
        <div class="sides">
          {([["before", a.before], ["after", a.after]] as [string, Side][]).map(([name, side]) => (
            <figure key={name}><InputPicture shape={a.shape} side={side} truth={null} input={input} upload={upload} all={false} channel={null} label={`Motifs ${name}`} />
              <figcaption><Reading side={side} label={a.label} title={`Prediction ${name}:`} /></figcaption></figure>
          ))}
        </div>
      )}
    </Section>
  );
}

export function MotifsView({ job }: { job: Job }) {
  const q = route.value.query, seed = Number(q.get("seed") ?? 3), checkpoint = q.get("checkpoint") ?? "latest", channel = q.get("channel") === null ? null : Number(q.get("channel"));
  const [upload, setUpload] = useState<Upload | null>(null), [wrong, setWrong] = useState<unknown>(null);
  const [all, setAll] = useState(true), [boxes, setBoxes] = useState(true), [edits, setEdits] = useState<Edit[]>([]);
  const file = useRef<HTMLInputElement>(null);
  const marks = useLoad(`${job.id} checkpoints`, (signal) => get<{ checkpoints: Checkpoint[] }>(`/v1/jobs/${job.id}/checkpoints`, signal));
  const source: Source = upload ? { data: upload.data, type: upload.type } : { sample: { seed } };
  const any = (marks.data?.checkpoints.length ?? 0) > 0;
  const answer = useLoad(any ? `${checkpoint} ${upload ? upload.data : seed}` : null,
    () => send<Answers<Answer>>("POST", `/v1/jobs/${job.id}/motifs`, { inputs: [source], checkpoint: pickOf(checkpoint) }));
  const a = answer.data?.answers[0];
  const show = (next: number) => { setUpload(null); setEdits([]); note({ seed: String(Math.max(0, next)) }); };
  const pick = async (list: FileList | null) => {
    if (!list?.length) return;
    setWrong(null);
    setEdits([]);
    try { setUpload(await take(list[0])); } catch (e) { setWrong(e); }
  };
  if (marks.data && !any) return <p class="empty">The job has no checkpoint yet. The model writes its first one at the end of the first stage.</p>;
  const maximal = a?.motifs.filter((m) => m.maximal) ?? [];
  const counts = a ? Array.from({ length: a.shape[2] }, (_, c) => a.motifs.filter((m) => m.channel === c && m.maximal).length) : [];
  const picks: [string, string][] = [["latest", "latest"], ["best", "best"], ...(marks.data?.checkpoints ?? []).map((c) => [String(c.seq), `${c.seq}: density ${number(c.density)}, accuracy ${percent(c.accuracy)}`] as [string, string])];
  return (
    <div class="explorer">
      <div class="tools bar-tools">
        <label class="choice"><span>Sample</span><input type="number" min={0} value={upload ? "" : seed} onChange={(e) => show(Number((e.currentTarget as HTMLInputElement).value))} /></label>
        <button type="button" onClick={() => show(seed - 1)} aria-label="Previous sample">←</button><button type="button" onClick={() => show(seed + 1)} aria-label="Next sample">→</button>
        <button type="button" onClick={() => show(Math.floor(Math.random() * 1e6))}>Random sample</button>
        <input ref={file} type="file" hidden accept=".png,.wav,.npy" aria-label="Input file" onChange={(e) => void pick((e.currentTarget as HTMLInputElement).files)} />
        <button type="button" onClick={() => file.current?.click()}>Upload…</button>
        <Choice label="Checkpoint" value={checkpoint} options={picks} onChange={(v) => note({ checkpoint: v })} />
        <label class="check"><input type="checkbox" checked={all} onChange={() => setAll(!all)} />all active positions</label>
        <label class="check"><input type="checkbox" checked={boxes} onChange={() => setBoxes(!boxes)} />true positions</label>
      </div>
      <Fault fault={wrong ?? answer.fault} />
      {a && (
        <>
          <div class="two">
            <Section title={upload ? upload.name : `Sample ${seed}`} aside={<span class="muted">{maximal.length} motifs, {a.motif_count} active of {number(a.shape[0] * a.shape[1] * a.shape[2])}</span>}>
              <InputPicture shape={a.shape} side={a} truth={boxes ? a.truth : null} input={a.input} upload={upload} all={all} channel={channel} label={`The input with ${maximal.length} motifs; the table beside it lists them`} onPick={(m) => note({ channel: String(m.channel) })} />
              <Reading side={a} label={a.label} title="Prediction" />
              <div class="chips" role="group" aria-label="Channels">{counts.map((n, c) => (
                <button key={c} type="button" class="key" aria-pressed={channel === c} onClick={() => note({ channel: channel === c ? null : String(c) })}><i class={`swatch round c${c % 8}`} aria-hidden="true" />channel {c} <b>{n}</b></button>
              ))}</div>
            </Section>
            <div>
              {channel !== null && <ChannelPanel job={job} channel={channel} checkpoint={checkpoint} close={() => note({ channel: null })} />}
              <Section title="Motifs">
                <Table caption="Motifs of this input" words={0} head={["Channel", "Row", "Column", "Value", ""]}
                  rows={maximal.filter((m) => channel === null || m.channel === channel).map((m) => [
                    <button type="button" class="key" onClick={() => note({ channel: String(m.channel) })}><i class={`swatch round c${m.channel % 8}`} aria-hidden="true" />{m.channel}</button>, m.position[0], m.position[1], number(m.value),
                    <button type="button" class="small" onClick={() => setEdits([...edits, { channel: m.channel, position: m.position, delete: true }])}>Delete<span class="hidden"> motif of channel {m.channel} at {m.position.join(", ")}</span></button>])} />
              </Section>
            </div>
          </div>
          <Interventions job={job} source={source} checkpoint={checkpoint} edits={edits} setEdits={setEdits} input={a.input} upload={upload} channels={a.shape[2]} />
        </>
      )}
    </div>
  );
}
