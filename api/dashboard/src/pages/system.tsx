// The page about the daemon: its work, storage, process and machine.
import { useEffect } from "preact/hooks";
import { get } from "../api";
import { bytes, duration, moment, number } from "../format";
import { Bar, Facts, Fault, Section, useLoad } from "../ui/base";
import { Who } from "../ui/sign_in";

interface System {
  version: string; build: string; compiler: string; cpu: string; cpu_features: string[]; kernels: string; blas: string; blas_core: string; cores: number;
  workers: number; workers_busy: number; threads_per_job: number; gflops_per_thread: number; memory_bytes: number; tokens_required: boolean;
  started_at: string; uptime_seconds: number; draining: boolean; queue_depth: number; queue_limit: number; jobs: Record<string, number>;
  database: Record<string, number>; models: Record<string, number>;
}

export function SystemPage() {
  const { data: s, fault, reload } = useLoad("system", (signal) => get<System>("/v1/system", signal));
  useEffect(() => {
    document.title = "System · motifd";
    const timer = setInterval(reload, 3000);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <div class="page-head"><h1>System</h1>{s?.draining && <strong role="status">shutting down</strong>}<Who /></div>
      <Fault fault={fault} />
      {s && (
        <div class="cards">
          <Section title="Work">
            <Facts items={[["Workers busy", <span class="measure"><span>{s.workers_busy} of {s.workers}</span><Bar value={s.workers ? s.workers_busy / s.workers : 0} label="Workers busy" /></span>], ["Threads per job", number(s.threads_per_job)], ["Queued", `${number(s.queue_depth)} of ${number(s.queue_limit)}`],
              ...Object.entries(s.jobs).map(([state, count]) => [state, number(count)] as [string, string])]} />
          </Section>
          <Section title="Storage">
            <Facts items={[["Database", bytes(s.database.file_bytes)], ["Write-ahead log", bytes(s.database.wal_bytes)], ["Free pages", bytes(s.database.free_bytes)], ["Checkpoints", number(s.database.checkpoints)], ["Checkpoint size", bytes(s.database.checkpoint_bytes)]]} />
          </Section>
          <Section title="Process">
            <Facts items={[["Memory", bytes(s.memory_bytes)], ["Models in the query cache", number(s.models.count)], ["Size of these models", bytes(s.models.bytes)], ["Uptime", duration(s.uptime_seconds)], ["Started", moment(s.started_at)], ["Version", s.version], ["Build", s.build], ["Tokens", s.tokens_required ? "required" : "not required"]]} />
          </Section>
          <Section title="Machine">
            <Facts items={[["Processor", s.cpu], ["Cores", number(s.cores)], ["Kernels", s.kernels], ["BLAS", s.blas], ["BLAS core", s.blas_core], ["GFLOPS per thread", s.gflops_per_thread ? number(s.gflops_per_thread) : "not measured yet"], ["Instructions", s.cpu_features.join(" ")]]} />
          </Section>
        </div>
      )}
    </>
  );
}
