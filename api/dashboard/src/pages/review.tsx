// A review: one mark after another, which a person calls right or false, and the share of false marks that follows from the answers.
import { useEffect, useState } from "preact/hooks";
import { get, send, type Job } from "../api";
import { number, percent } from "../format";
import { Bar, Fault, Section, useLoad } from "../ui/base";
import { ChannelMark, channelColour, channelNames } from "../ui/channel";
import { InputPicture, Legend } from "./motifs/input_picture";
import { inputOf, type Answer, type Answers, type Motif } from "./motifs/types";
import "./motifs.css";
import "./review.css";

type Verdict = "yes" | "no" | "unsure";
interface Card {
  id: string; name: string; channel: number; input: { sample: number; index: number; file: string | null }; position: [number, number]; extent: [number, number, number, number] | null;
  context?: string[]; score: number; q?: number | null; answer: { answer: Verdict } | null;
}
/** The share of false marks among `marks` marks of the test part, with its interval. */
interface Estimate { marks: number; answers: number; yes: number; no: number; unsure: number; share: number | null; low: number; high: number; confidence: number }
interface Review { marks: number; samples: number; estimate: Estimate; cards: Card[] }

const STEP = 20; // marks of a review
const KEYS: [Verdict, string, string][] = [["yes", "Right", "y"], ["no", "False", "n"], ["unsure", "Unsure", "u"]];

/** The input of a card with its mark. The parts of a text beside the mark come with the card. */
function Shown({ job, card, nameOf }: { job: string; card: Card; nameOf: (channel: number) => string }) {
  const { data, fault } = useLoad(card.context ? null : `${job} ${card.input.sample}`, () => send<Answers<Answer>>("POST", `/v1/jobs/${job}/motifs`, { inputs: [{ sample: { seed: card.input.sample } }] }).then((a) => ({ sample: card.input.sample, answer: a.answers[0] })));
  if (card.context) return <p class="marked-text context">{card.context[0]}<mark style={{ "--channel": channelColour(card.channel) }}>{card.context[1]}</mark>{card.context[2]}</p>;
  if (fault) return <Fault fault={fault} />;
  const a = data?.sample === card.input.sample ? data.answer : null;
  if (!a) return <p class="muted">Loading…</p>;
  const motif: Motif = { position: card.position, channel: card.channel, value: card.score, maximal: true, extent: card.extent };
  return <><InputPicture shape={a.shape} side={{ motifs: [motif], motif_count: 1, prediction: [] }} truth={null} input={inputOf(a)} upload={null} all channel={null} nameOf={nameOf} label={`The input with the mark ${card.name}`} /><Legend truth={false} /></>;
}

function EstimateText({ estimate: e }: { estimate: Estimate }) {
  return (
    <p role="status" class="bound">{e.share === null ? <>No answer yet.</> : <>Of <b>{number(e.yes + e.no)}</b> marks that you judged, <b>{number(e.no)}</b> {e.no === 1 ? "is" : "are"} false.
      Among all {number(e.marks)} marks, the false share is <b>{percent(e.share)}</b> ({percent(e.low)} to {percent(e.high)}, {percent(e.confidence)}).</>}{e.unsure > 0 && <> Unsure: {number(e.unsure)}.</>}</p>
  );
}

export function ReviewView({ job }: { job: Job }) {
  const [count, setCount] = useState(STEP), [given, setGiven] = useState<Record<string, Verdict>>({}), [estimate, setEstimate] = useState<Estimate | null>(null), [back, setBack] = useState<number | null>(null);
  const [fault, setFault] = useState<unknown>(null), [busy, setBusy] = useState(false), nameOf = channelNames(job.result?.channels), path = `/v1/jobs/${job.id}/review?count=${count}`;
  const loaded = useLoad(path, (signal) => get<Review>(path, signal)), cards = loaded.data?.cards ?? [];
  const answerOf = (card: Card): Verdict | undefined => given[card.id] ?? card.answer?.answer, open = cards.findIndex((c) => !answerOf(c)), at = back ?? (open < 0 ? cards.length : open), card = cards[at];
  const judge = (answer: Verdict) => {
    if (!card || busy) return;
    setBusy(true);
    setFault(null);
    send<{ estimate: Estimate }>("POST", path, { answers: [{ id: card.id, answer }] }).then((state) => { setGiven((now) => ({ ...now, [card.id]: answer })); setEstimate(state.estimate); setBack(null); }, setFault).finally(() => setBusy(false));
  };
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || (e.target as HTMLElement).closest?.("input, select, textarea, dialog")) return;
      const key = KEYS.find(([, , k]) => k === e.key.toLowerCase());
      if (key) judge(key[0]);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  const now = estimate ?? loaded.data?.estimate, done = cards.filter(answerOf).length;
  return (
    <div class="review">
      <Fault fault={fault ?? loaded.fault} />
      {!loaded.data && loaded.busy && <p class="empty">The model reads test inputs…</p>}
      {now && <EstimateText estimate={now} />}
      {card && (
        <Section title={`Mark ${at + 1} of ${cards.length}`} aside={at > 0 ? <button type="button" class="small" onClick={() => setBack(at - 1)}>Back</button> : undefined}>
          <h3 class="asked">Is this <ChannelMark channel={card.channel} name={card.name} />?</h3>
          <p class="muted">{card.input.file ?? `no. ${card.input.index}`}{card.q !== undefined && card.q !== null && `, q ${percent(card.q, 2)}`}{answerOf(card) && `; your answer: ${KEYS.find(([v]) => v === answerOf(card))![1].toLowerCase()}`}</p>
          <Shown job={job.id} card={card} nameOf={nameOf} />
          <div class="judges" role="group" aria-label="Your answer">{KEYS.map(([verdict, text, key]) => <button key={verdict} type="button" class={verdict === "yes" ? "primary" : ""} disabled={busy} aria-keyshortcuts={key} onClick={() => judge(verdict)}>{text} <kbd>{key}</kbd></button>)}</div>
        </Section>
      )}
      {cards.length > 0 && <Bar value={done / cards.length} label="Answered marks" />}
      {loaded.data && !card && <p class="empty">{cards.length === 0 ? "The model has no mark to judge in the test part." : <>All {number(cards.length)} marks are judged. {cards.length >= count && <button type="button" onClick={() => setCount(count + STEP)}>Judge {STEP} more</button>}</>}</p>}
    </div>
  );
}
