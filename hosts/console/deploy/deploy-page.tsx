/** One deploy: its phases, its records as they arrive, and its outcome. */
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { formatClock, formatDuration } from "../components/format.ts";
import { Delayed, Problem } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Status } from "../components/status.tsx";
import { OutputLines, Text } from "../components/text.tsx";
import { showsUtc, Time } from "../components/time.tsx";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";
import { phasesOf } from "./phases.ts";

type DeployRecord = ReturnType<typeof client.followDeploy> extends AsyncGenerator<infer R> ? R : never;
type DeployRow = Awaited<ReturnType<typeof client.listDeploys>>["deploys"][number];

const LIST_LIMIT = 100;
/** The maximum number of records that the page shows. */
const MAX_SHOWN = 5000;

const isStatus = (error: unknown, status: number): boolean =>
  error instanceof Error && (error as { status?: unknown }).status === status;

const findRow = async (id: string, signal: AbortSignal): Promise<DeployRow | undefined> => {
  const { deploys } = await client.listDeploys({ limit: LIST_LIMIT }, { signal });
  return deploys.find(({ deploy_id }) => deploy_id === id);
};

/** Follows the deploy; its records appear in batches, one per frame. */
const useRecords = (id: string) => {
  const records = useSignal<readonly DeployRecord[]>([]);
  const error = useSignal<unknown>(undefined);
  const row = useSignal<DeployRow | undefined>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    let batch: DeployRecord[] = [];
    const flush = () => {
      records.value = [...records.value, ...batch];
      batch = [];
    };
    const follow = async (): Promise<void> => {
      try {
        row.value = await findRow(id, controller.signal).catch(() => undefined);
        for await (const record of client.followDeploy({ deploy_id: id }, { signal: controller.signal })) {
          if (batch.length === 0) requestAnimationFrame(flush);
          batch.push(record);
        }
      } catch (problem) {
        // The server keeps the records of a deploy for up to an hour; the list has its outcome for longer.
        if (!controller.signal.aborted && !(isStatus(problem, 404) && row.value !== undefined)) error.value = problem;
      }
    };
    void follow();
    return () => controller.abort();
  }, [id]);
  return { records, error, row };
};

const Phases = ({ records }: { readonly records: readonly DeployRecord[] }) => {
  const [now, setNow] = useState(Date.now());
  const phases = phasesOf(records);
  const isRunning = phases.some(({ state }) => state === "running");
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return (
    <ol class="phases" aria-label="Phases">
      {phases.map(({ name, state, began, ended }) => (
        <li key={name} class={state}>
          <strong>{name}</strong> <span>{state === "running" ? "running" : state}</span>{" "}
          <span class="dim">{formatDuration((ended ?? now) - began)}</span>
        </li>
      ))}
    </ol>
  );
};

interface Outcome {
  readonly message: string;
  readonly reason?: string | null | undefined;
  readonly exit_code?: number | undefined;
  readonly log_tail?: readonly string[] | undefined;
}

const Failure = ({ message, reason, exit_code, log_tail = [] }: Outcome) => (
  <section class="failure" role="alert">
    <h2>
      <Text>{message}</Text>
    </h2>
    <p>
      Reason: <code>{reason ?? "internal"}</code>
      {exit_code !== undefined && `, exit code ${exit_code}`}
    </p>
    {log_tail.length > 0 && (
      <>
        <h3>Last lines</h3>
        <OutputLines lines={log_tail} />
      </>
    )}
  </section>
);

const Records = ({ records }: { readonly records: readonly DeployRecord[] }) => {
  const shown = records.slice(-MAX_SHOWN);
  return (
    <section aria-label="Records">
      {shown.length < records.length && <p class="dim">Shows the last {MAX_SHOWN} records.</p>}
      <ol class="records">
        {shown.map(({ seq, time, status, message }) => (
          <li key={seq} class={status.toLowerCase()}>
            <time dateTime={time}>{formatClock(Date.parse(time), showsUtc.value)}</time>
            <span class="phase">{status}</span>
            <span class="line">
              <Text>{message}</Text>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
};

const CancelDeploy = ({ id }: { readonly id: string }) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Cancel the deploy
      </button>
      {isOpen && (
        <Confirm
          title="Cancel this deploy?"
          action="Cancel the deploy"
          danger
          run={async () => void (await client.cancelDeploy({ deploy_id: id }))}
          close={() => setOpen(false)}
        >
          <p>The current revision continues to serve. After the traffic has moved, cancelling has no effect.</p>
          <CopyCommands
            request={{ method: "POST", path: "/v1/deploy/cancel", json: { deploy_id: id } }}
            cli={cliOf("cancel", id)}
          />
        </Confirm>
      )}
    </>
  );
};

export const DeployPage = ({ id }: { readonly id: string }) => {
  const { records, error, row } = useRecords(id);
  const last = records.value.at(-1);
  const status = last?.status ?? row.value?.status;
  const name = row.value?.name;
  const isRunning = status === "BUILDING" || status === "DEPLOYING";
  const began = records.value[0]?.time ?? row.value?.began_at;
  return (
    <>
      <div class="title">
        <h1>
          Deploy{" "}
          {name !== undefined && (
            <>
              of <a href={fragmentOf({ page: "deployment", name, section: "overview" })}>{name}</a>
            </>
          )}
        </h1>
        <div class="buttons">
          <CopyCommands
            request={{ method: "GET", path: `/v1/deploy/${id}`, query: { after: "0" } }}
            cli={cliOf("attach", id)}
          />
          {isRunning && last !== undefined && <CancelDeploy id={id} />}
        </div>
      </div>
      {error.value !== undefined && <Problem error={error.value} />}
      {status === undefined && error.value === undefined && <Delayed>Loading the deploy…</Delayed>}
      {status !== undefined && (
        <p class="facts" aria-live="polite">
          <Status status={status} />
          {began && <Time time={began} />}
          {last?.url !== undefined && (
            <a href={last.url} target="_blank" rel="noreferrer">
              {last.url}
            </a>
          )}
          <code class="dim">{id}</code>
        </p>
      )}
      <Phases records={records.value} />
      {last?.status === "ERROR" && <Failure {...last} />}
      {last === undefined && row.value?.status === "ERROR" && <Failure {...row.value} />}
      {last === undefined && row.value?.status === "DONE" && <p>{row.value.message}</p>}
      {records.value.length > 0 && <Records records={records.value} />}
    </>
  );
};
