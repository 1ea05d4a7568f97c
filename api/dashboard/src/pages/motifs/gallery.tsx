// The gallery of channels: for each channel its name, crops or a logo, and how often it is used; the most used channels first.
import { useEffect, useState } from "preact/hooks";
import { get } from "../../api";
import { number } from "../../format";
import { href } from "../../router";
import { Bar, Fault, useLoad } from "../../ui/base";
import { ChannelMark } from "../../ui/channel";
import { Examples, loadUse, marks, type Used } from "./channel";
import { Logo, MatrixNames, MatrixTools } from "./matrix";
import { PairPanels } from "./pairs";
import { motifs, type ChannelList, type ChannelUse, type MotifProps } from "./types";

const FIRST = 24; // cards that are shown before the user asks for more
const TOP = 12; // inputs of which a card shows the first crops, or the logo

/** Loads the examples of the channels one after the other, so that the page never sends two of these long queries at a time. */
function useExamples(jobId: string, checkpoint: string, channels: number[]): Map<number, Used> {
  const [found, setFound] = useState(new Map<number, Used>());
  useEffect(() => {
    const stop = new AbortController();
    setFound(new Map());
    void (async () => {
      for (const channel of channels) {
        const use = await loadUse(jobId, channel, checkpoint, TOP, stop.signal).catch(() => null);
        if (stop.signal.aborted) return;
        if (use) setFound((now) => new Map(now).set(channel, use));
      }
    })();
    return () => stop.abort();
  }, [jobId, checkpoint, channels.join()]);
  return found;
}

function Card({ use, examples, samples, alphabet, jobId, name, nameOf }: { use: ChannelUse; alphabet: ChannelList["alphabet"]; examples: Used | undefined; samples: number; jobId: string; name: string; nameOf: (channel: number) => string }) {
  const symbol = marks(use), own = name !== `channel ${use.channel}`;
  return (
    <li class="card channel-card">
      <h2><a href={href(`jobs/${jobId}/motifs`, { channel: String(use.channel) })}><ChannelMark channel={use.channel} name={own ? name : symbol ? `marks ${symbol}` : `channel ${use.channel}`} /></a> {(own || symbol) && <span class="muted">channel {use.channel}</span>}</h2>
      {use.matrix && alphabet ? <><Logo matrix={use.matrix} alphabet={alphabet} name={name} /><MatrixNames matrix={use.matrix} nameOf={nameOf} /></> : examples ? <Examples use={examples} most={4} jobId={jobId} name={name} /> : <div class="waiting" role="status"><span class="muted">Searching inputs…</span></div>}
      <p class="muted">in {number(use.inputs)} of {number(samples)} inputs{use.motifs !== null && `, ${motifs(use.motifs)}`}</p>
      <Bar value={use.inputs / samples} label={`Share of the inputs that have ${name}`} />
    </li>
  );
}

export function Gallery({ jobId, kind, checkpoint, nameOf }: MotifProps) {
  const [all, setAll] = useState(false), [against, setAgainst] = useState("");
  const list = useLoad(`${jobId} ${checkpoint} ${against}`, (signal) => get<ChannelList>(`/v1/jobs/${jobId}/channels?checkpoint=${encodeURIComponent(checkpoint)}${against && `&against=${encodeURIComponent(against)}`}`, signal));
  const used = (list.data?.channels ?? []).filter((u) => u.active > 0).sort((a, b) => b.inputs - a.inputs), unused = (list.data?.channels ?? []).filter((u) => u.active === 0);
  const shown = all ? used : used.slice(0, FIRST);
  const examples = useExamples(jobId, checkpoint, shown.filter((u) => !u.matrix).map((u) => u.channel));
  return (
    <>
      {used.some((u) => u.matrix) && <MatrixTools jobId={jobId} kind={kind} checkpoint={checkpoint} against={against} choose={setAgainst} />}
      <Fault fault={list.fault} />
      {!list.data && list.busy && <p class="empty">Searching inputs…</p>}
      {list.data && used.length === 0 && <p class="empty">No channel is active in any of {number(list.data.samples)} inputs at this checkpoint.</p>}
      <ul class="gallery" aria-label="Channels">{shown.map((u) => <Card key={u.channel} use={u} alphabet={list.data!.alphabet} examples={examples.get(u.channel)} samples={list.data!.samples} jobId={jobId} name={nameOf(u.channel)} nameOf={nameOf} />)}</ul>
      {used.length > shown.length && <p><button type="button" onClick={() => setAll(true)}>{used.length - shown.length} more channels</button></p>}
      {used.filter((u) => u.matrix).length > 1 && <PairPanels jobId={jobId} checkpoint={checkpoint} />}
      {unused.length > 0 && <p class="hint">Never active in these inputs: {unused.map((u) => nameOf(u.channel)).join(", ")}.</p>}
    </>
  );
}
