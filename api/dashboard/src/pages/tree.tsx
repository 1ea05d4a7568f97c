// The tree of environments with the changes found on its edges.
import { useMemo, useState } from "preact/hooks";
import type { Job } from "../api";
import { number } from "../format";
import { Choice, DataTable, Fault, Section, useLoad } from "../ui/base";
import { table } from "../ui/csv";
import "./figures.css";

interface Change { parent: string; child: string; latent: number; found: number; truth: number }
interface Node { name: string; children: Node[]; depth: number; row: number }

const ROW = 22, COLUMN = 150;

/** Places the leaves in rows in the order of the tree, and each inner node in the middle of its children. */
function layout(changes: Change[]): { nodes: Node[]; leaves: number; depth: number } {
  const known = new Map<string, Node>(), child = new Set<string>();
  const node = (name: string) => known.get(name) ?? known.set(name, { name, children: [], depth: 0, row: 0 }).get(name)!;
  for (const c of changes) {
    if (child.has(c.child)) continue;
    child.add(c.child);
    node(c.parent).children.push(node(c.child));
  }
  let leaves = 0, deepest = 0;
  const place = (n: Node, depth: number): number => {
    n.depth = depth;
    deepest = Math.max(deepest, depth);
    n.row = n.children.length ? n.children.map((c) => place(c, depth + 1)).reduce((a, b) => a + b, 0) / n.children.length : leaves++;
    return n.row;
  };
  for (const n of known.values()) if (!child.has(n.name)) place(n, 0);
  return { nodes: [...known.values()], leaves, depth: deepest };
}

function TreePicture({ changes, latent }: { changes: Change[]; latent: number | null }) {
  const tree = useMemo(() => layout(changes), [changes]);
  const most = Math.max(...changes.map((c) => Math.max(Math.abs(c.found), Math.abs(c.truth))), 1e-9);
  const width = (tree.depth + 1) * COLUMN, height = (tree.leaves + 1) * ROW;
  const x = (n: Node) => 12 + n.depth * COLUMN, y = (n: Node) => ROW * (n.row + 0.8);
  const radius = (size: number) => 9 * Math.sqrt(Math.abs(size) / most);
  const marks = (parent: Node, child: Node) => {
    const own = changes.filter((c) => c.child === child.name && (latent === null || c.latent === latent) && Math.max(Math.abs(c.found), Math.abs(c.truth)) > most * 0.02);
    return own.map((c, i) => {
      const part = (i + 1) / (own.length + 1), cx = x(parent) + 26 + (COLUMN - 44) * part, cy = y(child);
      return (
        <g key={c.latent} class={`c${c.latent % 8}`}>
          {c.truth !== 0 && <circle class="ring" cx={cx} cy={cy} r={Math.max(3, radius(c.truth))} />}
          {c.found !== 0 && <circle class="disc" cx={cx} cy={cy} r={Math.max(1.5, radius(c.found))}><title>{`${c.parent} → ${c.child}, latent ${c.latent}: found ${number(c.found)}, true ${number(c.truth)}`}</title></circle>}
        </g>
      );
    });
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Tree of environments">
      <svg class="tree" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Tree of ${tree.leaves} environments with the changes found on its edges; the table below lists them`}>
        {tree.nodes.flatMap((n) => n.children.map((c) => <path key={c.name} d={`M${x(n)} ${y(n)} V${y(c)} H${x(c)}`} />))}
        {tree.nodes.flatMap((n) => n.children.map((c) => <g key={c.name}>{marks(n, c)}</g>))}
        {tree.nodes.map((n) => <g key={n.name}><circle class="node" cx={x(n)} cy={y(n)} r={2.5} />{n.children.length === 0 && <text x={x(n) + 7} y={y(n) + 4}>{n.name}</text>}</g>)}
      </svg>
    </div>
  );
}

export function TreeView({ job }: { job: Job }) {
  const rows = useLoad(job.result ? job.id : null, (signal) => table(job.id, "tree.csv", signal));
  const [latent, setLatent] = useState("all");
  const changes = useMemo<Change[]>(() => (rows.data ?? []).map((r) => ({ parent: r.parent, child: r.child, latent: Number(r.latent), found: Number(r.found), truth: Number(r.true) })), [rows.data]);
  if (!job.result) return <p class="empty">The tree appears when the job has finished.</p>;
  const latents = [...new Set(changes.map((c) => c.latent))].sort((a, b) => a - b);
  const known = changes.some((c) => c.truth !== 0); // whether the true changes are known
  return (
    <>
      <Fault fault={rows.fault} />
      {changes.length > 0 && (
        <Section title="Changes along the tree" aside={<Choice label="Latent variable" value={latent} options={[["all", "all"], ...latents.map((l) => [String(l), String(l)] as [string, string])]} onChange={setLatent} />}>
          <div class="legend">{latents.map((l) => <span key={l} class="key-text"><i class={`swatch round c${l % 8}`} aria-hidden="true" />latent {l}</span>)}<span class="muted">Disc: change found.{known ? " Ring: true change." : ""} The area is proportional to the size of the change.</span></div>
          <TreePicture changes={changes} latent={latent === "all" ? null : Number(latent)} />
          <DataTable caption="Changes along the tree" make={() => ({ head: ["parent", "child", "latent", "found", "true"], rows: changes.map((c) => [c.parent, c.child, c.latent, number(c.found), number(c.truth)]) })} />
        </Section>
      )}
    </>
  );
}
