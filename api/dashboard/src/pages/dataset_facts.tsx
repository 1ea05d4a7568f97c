// What a data set contains: names with their counts, and the size of a sample.
import { number } from "../format";

export interface Named { name: string; alternative?: string; count?: number }
export interface DataSet { name: string; bytes: number; format: string; kind: string; target: string; samples: number; rate?: number; shape: { channels: number; rows: number; cols: number }; vocabulary: Named[]; columns?: Named[]; numbers?: Named[]; groups?: Named[]; warnings?: { code: string; text: string }[] }

const SHOWN = 24; // names in a list
/** Names with their counts. */
export function Names({ title, names }: { title: string; names: Named[] }) {
  if (names.length === 0) return null;
  return <p class="names"><span class="muted">{number(names.length)} {names.length === 1 ? title.slice(0, -1) : title}</span> {names.slice(0, SHOWN).map((n) => <span key={n.name}><b>{n.name}</b>{n.alternative && ` ${n.alternative}`}{n.count !== undefined && !n.alternative && <span class="muted"> {number(n.count)}</span>}</span>)}{names.length > SHOWN && <span class="muted">and {number(names.length - SHOWN)} more</span>}</p>;
}

/** The size of a sample: "80 long", "24 × 24", "12 columns", "at most 4,410 values at 44,100 Hz". */
export const sizeOf = ({ kind, rate, shape: { rows, cols, channels } }: DataSet) => (kind === "table" ? `${number(cols)} columns` : rate ? `at most ${number(cols)} values at ${number(rate)} Hz` : `${rows > 1 ? `${rows} × ` : ""}${number(cols)}${rows > 1 ? "" : " long"}${channels > 1 ? `, ${channels} channels` : ""}`);
