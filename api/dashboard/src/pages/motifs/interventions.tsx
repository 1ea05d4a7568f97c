// The prediction before and after motifs of an input are deleted or moved to another channel.
import { useState } from "preact/hooks";
import { send } from "../../api";
import { Choice, Fault, Section, useLoad } from "../../ui/base";
import type { Signal } from "../../ui/signal_picture";
import { InputPicture, Reading } from "./input_picture";
import { MarkedText } from "./text";
import { pickOf, type Answers, type Edit, type Intervened, type MotifProps, type Side, type Source, type Upload } from "./types";

export function Interventions({ jobId, checkpoint, nameOf, source, edits, setEdits, input, upload, channels }: MotifProps & {
  source: Source; edits: Edit[]; setEdits: (edits: Edit[]) => void; input?: Signal; upload: Upload | null; channels: number;
}) {
  const key = edits.length ? JSON.stringify([source, checkpoint, edits]) : null;
  const answer = useLoad(key, () => send<Answers<Intervened>>("POST", `/v1/jobs/${jobId}/interventions`, { inputs: [{ ...source, edits }], checkpoint: pickOf(checkpoint) }).then((a) => a.answers[0]));
  const [from, setFrom] = useState("0"), [to, setTo] = useState("delete");
  const add = () => setEdits([...edits, to === "delete" ? { channel: Number(from), delete: true } : { channel: Number(from), to: { channel: Number(to) } }]);
  const all = Array.from({ length: channels }, (_, i) => [String(i), nameOf(i)] as [string, string]);
  const a = answer.data;
  return (
    <Section title="Interventions" aside={edits.length > 0 ? <button type="button" class="small" onClick={() => setEdits([])}>Undo all</button> : undefined}>
      <div class="tools">
        <Choice label="Motifs of" value={from} options={all} onChange={setFrom} />
        <Choice label="Change" value={to} options={[["delete", "delete"], ...all.map(([v, t]) => [v, `move to ${t}`] as [string, string])]} onChange={setTo} />
        <button type="button" onClick={add}>Apply</button>
      </div>
      <ul class="edits">{edits.map((e, i) => (
        <li key={i}>{nameOf(e.channel)}{e.position ? ` at ${e.position.join(", ")}` : ", all positions"}: {e.delete ? "deleted" : `moved to ${nameOf(e.to!.channel)}`} <button type="button" class="small" onClick={() => setEdits(edits.filter((_, j) => j !== i))}>Undo<span class="hidden"> change {i + 1}</span></button></li>
      ))}</ul>
      {edits.length === 0 && <p class="muted">Change all motifs of a channel here, or delete one motif in the table, to see how the prediction changes.</p>}
      <Fault fault={edits.length ? answer.fault : null} />
      {edits.length > 0 && a && (
        <div class="sides">
          {([["before", a.before], ["after", a.after]] as [string, Side][]).map(([name, side]) => (
            <figure key={name}>{a.text !== undefined ? <MarkedText text={a.text} side={side} all={false} channel={null} nameOf={nameOf} label={`Motifs ${name}`} />
              : <InputPicture shape={a.shape} side={side} truth={null} input={input} upload={upload} all={false} channel={null} nameOf={nameOf} label={`Motifs ${name}`} />}
              <figcaption><Reading side={side} label={a.label} title={`Prediction ${name}:`} /></figcaption></figure>
          ))}
        </div>
      )}
    </Section>
  );
}
