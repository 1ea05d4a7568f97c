// Reads server-sent events with fetch, because EventSource cannot send the token. After a lost connection the stream continues after the
// last event received. The daemon stores events in its database, so a restart of the daemon loses none.
import { signal } from "./signal";
import { headers, locked } from "./api";

export interface LiveEvent { type: string; data: Record<string, unknown> }
interface Listener { event(event: LiveEvent): void; open?(): void }

/** live: connected; waiting: connecting or reconnecting; over: the stream has ended. */
export const link = signal<"live" | "waiting" | "over">("over");
export const lost = signal<number | null>(null); // time when the connection was lost, in ms; null while connected

const SILENCE = 45_000; // ms without a byte after which the page reconnects; the daemon's heartbeats are more frequent
const WAIT_FIRST = 400;
const WAIT_MOST = 5_000;

interface Stream { last: string; wait: number }

/** Parses the lines of a stream and passes each complete event to the listener. */
class Parser {
  private type = "";
  private data: string[] = [];
  private rest = "";
  constructor(private stream: Stream, private listener: Listener) {}

  take(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  private line(line: string): void {
    if (line === "") {
      if (this.data.length) this.listener.event({ type: this.type || "message", data: JSON.parse(this.data.join("\n")) });
      this.type = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a heartbeat
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "event") this.type = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id") this.stream.last = value;
  }
}

async function read(path: string, stream: Stream, listener: Listener, stop: AbortSignal): Promise<boolean> {
  const quiet = new AbortController();
  const abort = () => quiet.abort();
  stop.addEventListener("abort", abort);
  let watch = setTimeout(abort, SILENCE);
  try {
    const more: Record<string, string> = { Accept: "text/event-stream" };
    if (stream.last) more["Last-Event-ID"] = stream.last;
    const response = await fetch(path, { headers: headers(more), signal: quiet.signal, cache: "no-store" });
    if (response.status === 401) locked.value = true; // TokenForm reloads the page with a token
    if ([204, 401, 404].includes(response.status)) return false;
    if (!response.ok || !response.body) return true;
    const parser = new Parser(stream, listener), decoder = new TextDecoder(), reader = response.body.getReader();
    link.value = "live";
    lost.value = null;
    stream.wait = WAIT_FIRST;
    listener.open?.();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return true;
      clearTimeout(watch);
      watch = setTimeout(abort, SILENCE);
      parser.take(decoder.decode(value, { stream: true }));
    }
  } catch {
    return true;
  } finally {
    clearTimeout(watch);
    stop.removeEventListener("abort", abort);
  }
}

const pause = (ms: number, stop: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    stop.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });

/** Follows a stream until the returned function is called. Calls `open` after every connection, including the first. */
export function follow(path: string, listener: Listener): () => void {
  const stop = new AbortController(), stream: Stream = { last: "", wait: WAIT_FIRST };
  link.value = "waiting";
  void (async () => {
    while (!stop.signal.aborted) {
      const again = await read(path, stream, listener, stop.signal);
      if (stop.signal.aborted) return;
      if (!again) {
        link.value = "over";
        return;
      }
      link.value = "waiting";
      lost.value ??= Date.now();
      await pause(stream.wait, stop.signal);
      stream.wait = Math.min(WAIT_MOST, stream.wait * 1.6);
    }
  })();
  return () => {
    stop.abort();
    link.value = "over";
    lost.value = null;
  };
}
