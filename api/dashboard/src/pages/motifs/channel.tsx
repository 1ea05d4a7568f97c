// One channel: crops or the logo of the inputs that excite it most, how often it is used, and the histogram of its activations.
import { useMemo } from "preact/hooks";
import { get, send } from "../../api";
import { number } from "../../format";
import { href } from "../../router";
import { Fault, Section, useLoad } from "../../ui/base";
import { Canvas } from "../../ui/canvas";
import { later } from "../../ui/later";
import { lookOf, paintLogo, paintValues, type Signal } from "../../ui/signal_picture";
import { channelColour, ChannelMark } from "../../ui/channel";
import { colour } from "../../ui/theme";
import { MarkedText } from "./text";
import { inputOf, motifs, pickOf, type Answer, type Answers, type ChannelUse, type MotifProps, type Top } from "./types";

const Chart = later(() => import("../../ui/chart").then((m) => m.Chart));

export interface Used extends ChannelUse { top: Top[]; inputsOfTop: (Signal | undefined)[]; answers: Answer[] }

/** Loads the use of a channel together with the inputs that excite it most. */
export async function loadUse(job: string, channel: number, checkpoint: string, top: number, signal: AbortSignal): Promise<Used> {
  const found = await get<ChannelUse>(`/v1/jobs/${job}/channels/${channel}?top=${top}&checkpoint=${encodeURIComponent(checkpoint)}`, signal);
  const list = found.top ?? [], inputs = list.map((t) => ({ sample: { seed: t.sample } }));
  const answers = inputs.length ? (await send<Answers<Answer>>("POST", `/v1/jobs/${job}/motifs`, { inputs, checkpoint: pickOf(checkpoint) })).answers : [];
  return { ...found, top: list, inputsOfTop: answers.map(inputOf), answers };
}

/** The part of an input that determines a motif. All crops have the same scale; parts outside the input stay empty. */
function Crop({ top, input, high, wide }: { top: Top; input: Signal; high: number; wide: number }) {
  const [rows, cols] = input.shape, [r0, r1, c0, c1] = top.window, line = rows === 1, look = lookOf(input);
  const draw = useMemo(() => (c: CanvasRenderingContext2D, w: number, h: number) => {
    const x = w / wide, y = line ? h : h / high;
    c.fillStyle = colour("line");
    c.fillRect(0, 0, w, h);
    c.translate((c0 === 0 ? wide - c1 : -c0) * x, line ? 0 : (r0 === 0 ? high - r1 : -r0) * y);
    c.fillStyle = colour("sunken");
    c.fillRect(0, 0, cols * x, line ? h : rows * y);
    paintValues(c, input, look, { left: 0, top: 0, width: cols * x, height: line ? h : rows * y });
  }, [top, input]);
  return <Canvas label={`Sample ${top.sample}`} ratio={line ? 0.6 : high / wide} draw={draw} />;
}

/** How often each symbol stands at each position of the windows, aligned at the motif. */
function logoCounts(use: Used, symbols: number): number[][] {
  const wide = Math.max(...use.top.map((t) => t.window[3] - t.window[2])), counts = Array.from({ length: wide }, () => new Array<number>(symbols).fill(0));
  use.top.forEach((t, i) => {
    const input = use.inputsOfTop[i], shift = t.window[2] === 0 ? wide - t.window[3] : -t.window[2];
    if (input) for (let x = t.window[2]; x < t.window[3]; x++) for (let k = 0; k < symbols; k++) if (input.values[x * symbols + k] === 1) counts[x + shift][k]++;
  });
  return counts;
}

/** The logo of a channel over letters, or else the crops of its strongest inputs. `link`: each crop leads to its sample. */
export function Examples({ use, most, jobId, link, name }: ExamplesProps) {
  if (use.answers[0]?.text !== undefined) return <Quotes use={use} most={most} jobId={jobId} link={link} name={name} />;
  return <Pictures use={use} most={most} jobId={jobId} link={link} name={name} />;
}

interface ExamplesProps { use: Used; most: number; jobId: string; link?: boolean; name: string }

/** The strongest texts of a channel, cut around the words that it marks. */
function Quotes({ use, most, jobId, link, name }: ExamplesProps) {
  return (
    <ul class="quotes" aria-label={`Texts with the largest activations of ${name}`}>{use.top.slice(0, most).map((t, i) => {
      const answer = use.answers[i], text = answer?.text !== undefined && <MarkedText text={answer.text} side={answer} all channel={use.channel} nameOf={() => name} label={`Sample ${t.sample}`} around={40} />;
      return <li key={i}>{text}{link && <a href={href(`jobs/${jobId}/motifs`, { seed: String(t.sample), channel: String(use.channel) })}>{number(t.value)}<span class="hidden"> in sample {t.sample}</span></a>}</li>;
    })}</ul>
  );
}

function Pictures({ use, most, jobId, link, name }: ExamplesProps) {
  const first = use.inputsOfTop[0], size = (at: number) => Math.max(1, ...use.top.map((t) => t.window[at + 1] - t.window[at]));
  const alphabet = first?.alphabet, counts = useMemo(() => (alphabet ? logoCounts(use, alphabet.symbols.length) : null), [use]);
  return (
    <>
      {counts && alphabet && <Canvas label={`Logo of ${name}, from ${use.top.length} sequences`} class="logo" ratio={0.22} draw={(c, w, h) => paintLogo(c, alphabet, counts, w, h)} />}
      {(!counts || link) && <ul class={link ? "crops" : "crops small-crops"} aria-label={`Inputs with the largest activations of ${name}`}>{use.top.slice(0, most).map((t, i) => {
        const input = use.inputsOfTop[i], crop = input && <Crop top={t} input={input} high={size(0)} wide={size(2)} />;
        return <li key={i}>{link ? <a class="crop" href={href(`jobs/${jobId}/motifs`, { seed: String(t.sample), channel: String(use.channel) })}>{crop}<span>{number(t.value)}{t.symbol !== null && ` on ${t.symbol}`}<span class="hidden"> in sample {t.sample}</span></span></a> : crop}</li>;
      })}</ul>}
    </>
  );
}

/** The symbol that most motifs of a channel mark, where the data have true positions. */
export const marks = (use: ChannelUse): string | null => {
  const of = (symbol: string | null) => use.symbols?.find((s) => s.symbol === symbol)?.count ?? 0;
  return use.symbol !== null && of(use.symbol) > of(null) ? use.symbol : null;
};

export function ChannelPanel({ jobId, checkpoint, nameOf, channel, close }: MotifProps & { channel: number; close: () => void }) {
  const loaded = useLoad(`${jobId} ${channel} ${checkpoint}`, (signal) => loadUse(jobId, channel, checkpoint, 16, signal));
  const use = loaded.data?.channel === channel ? loaded.data : null, histogram = use?.histogram, symbol = use && marks(use), name = nameOf(channel);
  const lines = useMemo(() => (histogram ? [{ label: "motifs", step: true, colour: channelColour(channel), points: histogram.counts.map((n, i) => [histogram.edges[i], n] as [number, number]) }] : []), [histogram]);
  return (
    <Section title={`Channel ${channel}${name === `channel ${channel}` ? symbol ? ` marks ${symbol}` : "" : `: ${name}`}`} aside={<button type="button" class="small" onClick={close}>All channels</button>}>
      <Fault fault={loaded.fault} />
      {!use && loaded.busy && <p class="muted">Searching inputs…</p>}
      {use && <p class="muted"><ChannelMark channel={channel} name="" /> {use.motifs !== null ? motifs(use.motifs) : `${number(use.active)} active positions`} in {number(use.inputs)} inputs; mean activation {number(use.mean)}, maximum {number(use.max)}{use.strength !== null && <>; the name predicts the label with strength {number(use.strength, 2)}</>}.</p>}
      {use?.symbols && use.symbols.length > 0 && <p class="tokens">On {use.symbols.map((s, i) => <span key={i}><b>{s.symbol ?? "no symbol"}</b> {number(s.count)}</span>)}</p>}
      {use && <Examples use={use} most={8} jobId={jobId} link name={name} />}
      {lines.length > 0 && lines[0].points.length > 1 && <Chart title="Activations" lines={lines} xLabel="activation" height={140} />}
    </Section>
  );
}

