// One input: a sample, a file of the user, or a drawing, with the motifs that the model finds in it and its prediction.
import { useRef, useState } from "preact/hooks";
import { Problem, send, type FileFormat, type Kind } from "../../api";
import { number, percent } from "../../format";
import { note, route } from "../../router";
import { Fault, Section, Table, useLoad } from "../../ui/base";
import { bounds } from "../../ui/canvas";
import { ChannelMark } from "../../ui/channel";
import { lookOf, ownValue, type Look, type Signal } from "../../ui/signal_picture";
import { ChannelPanel } from "./channel";
import { InputPicture, Legend, Reading } from "./input_picture";
import { Interventions } from "./interventions";
import { MarkedText, wordsOf } from "./text";
import { inputOf, motifs, pickOf, type Answer, type Answers, type Edit, type Motif, type MotifProps, type Source, type Upload } from "./types";

const LOOKS: Record<Look, string> = { image: "an image", lines: "lines", letters: "letters", spectrogram: "a spectrogram" };
const READ_EVERY = 150; // ms between two readings of a drawing

/** The file formats that the query takes as an input. */
const formatsOf = (kind: Kind | undefined): FileFormat[] => kind?.queries.find((q) => q.name === "motifs")?.files ?? [];
const dotted = (formats: FileFormat[]): string[] => formats.flatMap((f) => f.endings.map((e) => `.${e}`));

async function take(file: File, formats: FileFormat[]): Promise<Upload> {
  const type = formats.find((f) => dotted([f]).some((ending) => file.name.toLowerCase().endsWith(ending.toLowerCase())))?.media_type;
  if (!type) throw new Problem(0, "Unknown file type", `Choose a file of the type ${dotted(formats).join(", ")}.`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return { name: file.name, type, data: btoa(text), bitmap: type.startsWith("image/") ? await createImageBitmap(file).catch(() => null) : null };
}

/** A drawing on the pixels of an image. `back` is its most frequent value, `ink` the value that is farthest from it. */
interface Sketch { signal: Signal; values: Float32Array; back: number; ink: number; version: number }

function sketchOf(from: Signal): Sketch {
  const values = Float32Array.from(from.values as number[]), counts = new Map<number, number>();
  for (const v of values) counts.set(v, (counts.get(v) ?? 0) + 1);
  const back = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0])[0], [low, high] = bounds(values);
  return { signal: { ...from, values }, values, back, ink: high === low ? back + 1 : high - back >= back - low ? high : low, version: 0 };
}

/** The drawing as nested lists in the units of the client's data. */
function arrayOf({ signal, values }: Sketch): unknown {
  const [rows, cols, channels = 1] = signal.shape;
  return Array.from({ length: rows }, (_r, r) => Array.from({ length: cols }, (_c, c) => {
    const at = (r * cols + c) * channels;
    return signal.shape.length < 3 ? ownValue(signal, values[at], 0) : Array.from(values.subarray(at, at + channels), (v, k) => ownValue(signal, v, k));
  }));
}

/** Paints a disc around a point, given as shares of the width and the height. */
function stroke(sketch: Sketch, x: number, y: number, erase: boolean): void {
  const [rows, cols, channels = 1] = sketch.signal.shape, radius = Math.max(0.75, Math.min(rows, cols) / 45), cx = x * cols, cy = y * rows;
  for (let r = Math.max(0, Math.floor(cy - radius)); r < Math.min(rows, cy + radius); r++) for (let c = Math.max(0, Math.floor(cx - radius)); c < Math.min(cols, cx + radius); c++) {
    if (Math.hypot(r + 0.5 - cy, c + 0.5 - cx) <= radius) sketch.values.fill(erase ? sketch.back : sketch.ink, (r * cols + c) * channels, (r * cols + c + 1) * channels);
  }
}

/** A text of the user as a file, which has one text on each line. */
function textUpload(text: string): Upload {
  const bytes = new TextEncoder().encode(text.replace(/[\r\n]+/g, " "));
  return { name: "The text", type: "text/plain", data: btoa(String.fromCharCode(...bytes)), bitmap: null };
}

/** The field for a text of the user. `begin`: the text that stands in it first. */
function TextForm({ begin, read }: { begin: string; read: (text: string) => void }) {
  const [text, setText] = useState(begin);
  const submit = (e: Event) => { e.preventDefault(); if (text.trim()) read(text); };
  return (
    <form class="tools text-form" onSubmit={submit}>
      <label class="choice"><span>Text</span><textarea rows={2} maxLength={60000} value={text} spellcheck={false} onInput={(e) => setText((e.currentTarget as HTMLTextAreaElement).value)} /></label>
      <button class="primary" disabled={!text.trim()}>Read the text</button>
    </form>
  );
}

/** The first and the last position of a motif, as motifctl prints them. */
function extentOf({ extent, seconds }: Motif, line: boolean): string {
  if (seconds) return `${number(seconds[0])} to ${number(seconds[1])} s`;
  if (!extent) return "–";
  const [r0, r1, c0, c1] = extent;
  return line ? `${c0} to ${c1 - 1}` : `${r0}–${r1 - 1}, ${c0}–${c1 - 1}`;
}

type Tool = "select" | "draw" | "erase";

/** The drawing of the user, which the model reads again at most every READ_EVERY ms while the user draws. */
function useSketch() {
  const [sketch, setSketch] = useState<Sketch | null>(null), [tool, setTool] = useState<Tool>("select");
  const timer = useRef(0), last = useRef<[number, number] | null>(null);
  const again = () => { timer.current ||= window.setTimeout(() => { timer.current = 0; setSketch((s) => s && { ...s, signal: { ...s.signal }, version: s.version + 1 }); }, READ_EVERY); };
  const draw = (x: number, y: number, begin: boolean) => {
    if (!sketch) return;
    const [fx, fy] = begin || !last.current ? [x, y] : last.current, steps = Math.max(1, Math.ceil(Math.hypot((x - fx) * sketch.signal.shape[1], (y - fy) * sketch.signal.shape[0]) * 2));
    for (let i = 1; i <= steps; i++) stroke(sketch, fx + ((x - fx) * i) / steps, fy + ((y - fy) * i) / steps, tool === "erase");
    last.current = [x, y];
    again();
  };
  const clear = () => { sketch?.values.fill(sketch.back); again(); };
  return { sketch, setSketch, tool, setTool, draw, clear };
}

export function Inputs({ jobId, checkpoint, nameOf, kind }: MotifProps) {
  const q = route.value.query, seed = Number(q.get("seed") ?? 3), channel = q.get("channel") === null ? null : Number(q.get("channel"));
  const [upload, setUpload] = useState<Upload | null>(null), [wrong, setWrong] = useState<unknown>(null), [own, setOwn] = useState<string | null>(null); // own: the text that the user has written
  const [all, setAll] = useState(true), [boxes, setBoxes] = useState(true), [edits, setEdits] = useState<Edit[]>([]);
  const { sketch, setSketch, tool, setTool, draw, clear } = useSketch();
  const file = useRef<HTMLInputElement>(null);
  const source: Source = sketch ? { array: arrayOf(sketch) } : upload ? { data: upload.data, type: upload.type } : { sample: { seed } };
  const answer = useLoad(`${checkpoint} ${sketch ? `drawing ${sketch.version}` : upload ? upload.data : seed}`,
    () => send<Answers<Answer>>("POST", `/v1/jobs/${jobId}/motifs`, { inputs: [source], checkpoint: pickOf(checkpoint) }));
  const a = answer.data?.answers[0], input = sketch?.signal ?? (a && inputOf(a)), look = input ? lookOf(input) : null, image = look === "image", line = a?.shape[0] === 1;
  const leave = () => { setSketch(null); setTool("select"); setEdits([]); };
  const text = a?.text;
  const show = (next: number) => { setUpload(null); setOwn(null); leave(); note({ seed: String(Math.max(0, next)) }); };
  const use = (next: Tool) => {
    if (next !== "select" && !sketch && a?.input) { setSketch(sketchOf(a.input)); setEdits([]); }
    setTool(next);
  };
  const pick = async (list: FileList | null) => {
    if (!list?.length) return;
    setWrong(null);
    setOwn(null);
    leave();
    try { setUpload(await take(list[0], formatsOf(kind))); } catch (e) { setWrong(e); }
  };
  const maximal = a?.motifs.filter((m) => m.maximal) ?? [], stranded = maximal.some((m) => m.strand);
  const counts = a ? Array.from({ length: a.shape[2] }, (_, c) => a.motifs.filter((m) => m.channel === c && m.maximal).length) : [];
  const key = (c: number) => <button type="button" class="key" onClick={() => note({ channel: String(c) })}><ChannelMark channel={c} name={nameOf(c)} /></button>;
  return (
    <>
      <div class="tools bar-tools">
        <label class="choice"><span>Sample</span><input type="number" min={0} value={upload || sketch ? "" : seed} onChange={(e) => show(Number((e.currentTarget as HTMLInputElement).value))} /></label>
        <button type="button" onClick={() => show(seed - 1)} aria-label="Previous sample">←</button><button type="button" onClick={() => show(seed + 1)} aria-label="Next sample">→</button>
        <button type="button" onClick={() => show(Math.floor(Math.random() * 1e6))}>Random sample</button>
        <input ref={file} type="file" hidden accept={dotted(formatsOf(kind)).join() || undefined} aria-label="Input file" onChange={(e) => void pick((e.currentTarget as HTMLInputElement).files)} />
        <button type="button" onClick={() => file.current?.click()}>Upload…</button>
        {image && <span class="segments" role="group" aria-label="Pointer">{(["select", "draw", "erase"] as Tool[]).map((t) => <button key={t} type="button" aria-pressed={tool === t} onClick={() => use(t)}>{t[0].toUpperCase() + t.slice(1)}</button>)}</span>}
        {sketch && <><button type="button" onClick={clear}>Blank</button><button type="button" onClick={leave}>Discard drawing</button></>}
        <label class="check"><input type="checkbox" checked={all} onChange={() => setAll(!all)} />all active positions</label>
        <label class="check"><input type="checkbox" checked={boxes} onChange={() => setBoxes(!boxes)} />true positions</label>
      </div>
      {(text !== undefined || own !== null) && <TextForm key={own ?? seed} begin={own ?? text!} read={(given) => { setWrong(null); leave(); setOwn(given); setUpload(textUpload(given)); }} />}
      <Fault fault={wrong ?? answer.fault} />
      {(a?.warnings ?? []).length > 0 && <ul class="warnings" aria-label="Warnings about the input">{a!.warnings!.map((w) => <li key={w.code}>{w.text}</li>)}</ul>}
      {a && (
        <>
          <div class={line ? "" : "two"}>
            <Section title={sketch ? "Drawing" : upload ? upload.name : `Sample ${seed}${a.record ? `, ${a.record}` : ""}`} aside={<span class="muted" role={sketch ? "status" : undefined}>{motifs(maximal.length)}, {a.motif_count} active of {number(a.shape[0] * a.shape[1] * a.shape[2])}</span>}>
              {text !== undefined ? <MarkedText text={text} side={a} all={all} channel={channel} nameOf={nameOf} label={`The text with ${motifs(maximal.length)}; the table below lists them`} onPick={(m) => note({ channel: String(m.channel) })} /> : <InputPicture shape={a.shape} side={a} truth={boxes && !sketch ? a.truth : null} input={input} upload={sketch ? null : upload} all={all} channel={channel} nameOf={nameOf}
                label={`The input${look ? ` as ${LOOKS[look]}` : ""} with ${motifs(maximal.length)}; the table beside it lists them`} onPick={(m) => note({ channel: String(m.channel) })} onDraw={sketch && tool !== "select" ? draw : undefined} />}
              {text === undefined && maximal.some((m) => m.extent) && <Legend truth={boxes && !sketch && (a.truth ?? []).length > 0} />}
              <Reading side={a} label={sketch ? undefined : a.label} title="Prediction" />
              <div class="chips" role="group" aria-label="Channels">{counts.map((n, c) => (
                <button key={c} type="button" class="key" aria-pressed={channel === c} onClick={() => note({ channel: channel === c ? null : String(c) })}><ChannelMark channel={c} name={nameOf(c)} /> <b>{n}</b></button>
              ))}</div>
            </Section>
            <div>
              {channel !== null && <ChannelPanel jobId={jobId} kind={kind} checkpoint={checkpoint} nameOf={nameOf} channel={channel} close={() => note({ channel: null })} />}
              <Section title="Motifs">
                <Table caption="Motifs of this input" words={text !== undefined ? 2 : 1} head={["Name", ...(text !== undefined ? ["Words", "Position"] : line ? ["Position"] : ["Row", "Column"]), ...(stranded ? ["Strand"] : []), "Extent", "Value", "q", ""]}
                  rows={maximal.filter((m) => channel === null || m.channel === channel).map((m) => [key(m.channel), ...(text !== undefined ? [wordsOf(m), m.position[1]] : line ? [m.position[1]] : m.position), ...(stranded ? [m.strand ?? ""] : []), extentOf(m, line), number(m.value), m.q === undefined || m.q === null ? "–" : percent(m.q, 2),
                    <button type="button" class="small" onClick={() => setEdits([...edits, { channel: m.channel, position: m.position, delete: true }])}>Delete<span class="hidden"> motif {nameOf(m.channel)} at {m.position.join(", ")}</span></button>])} />
              </Section>
            </div>
          </div>
          <Interventions jobId={jobId} kind={kind} checkpoint={checkpoint} nameOf={nameOf} source={source} edits={edits} setEdits={setEdits} input={input} upload={sketch ? null : upload} channels={a.shape[2]} />
        </>
      )}
    </>
  );
}

