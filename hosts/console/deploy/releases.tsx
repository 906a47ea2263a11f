/** The releases of a deployment, the differences between two, and a rollback with its plan. */
import { useState } from "preact/hooks";
import { Command, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Loaded, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Status } from "../components/status.tsx";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Ago } from "../components/time.tsx";
import { location, replaceQuery } from "../shell/router.ts";
import { client } from "../shell/session.ts";
import { openDeploy } from "./actions.tsx";
import { Changes, PlanSummary } from "./plan-summary.tsx";

type Release = Awaited<ReturnType<typeof client.listReleases>>["releases"][number];

const LIMIT = 50;

const Diff = ({ name, from, to }: { readonly name: string; readonly from: number; readonly to: number }) => {
  const diff = useResource(`diff ${name} ${from} ${to}`, (signal) =>
    client.compareReleases({ name, from, to }, { signal }),
  );
  return (
    <section class="card">
      <div class="title">
        <h2>
          Release {from} compared with {to}
        </h2>
        <div class="buttons">
          <CopyCommands
            request={{
              method: "GET",
              path: "/v1/deployment/release-diff",
              query: { name, from: String(from), to: String(to) },
            }}
            cli={cliOf("diff", name, String(from), String(to))}
          />
          <button type="button" onClick={() => replaceQuery({ from: undefined, to: undefined })}>
            Close
          </button>
        </div>
      </div>
      <Loaded resource={diff} waiting="Comparing the releases…">
        {({ changes, source_changed }) => (
          <>
            <p>{source_changed ? "The source differs." : "The source is the same."}</p>
            {changes.length === 0 ? (
              <p class="dim">The settings are the same.</p>
            ) : (
              <Changes changes={changes} from={`Release ${from}`} to={`Release ${to}`} />
            )}
          </>
        )}
      </Loaded>
    </section>
  );
};

interface RollbackProps {
  readonly name: string;
  readonly release: number;
  readonly close: () => void;
}

const Rollback = ({ name, release, close }: RollbackProps) => {
  const plan = useResource(`rollback ${name} ${release}`, (signal) =>
    client.planRollback({ name, release }, { signal }),
  );
  return (
    <Confirm
      title={`Roll back ${name} to release ${release}?`}
      action="Roll back"
      disabled={plan.data.value === undefined}
      run={async () => openDeploy(await client.rollback({ name, release }))}
      close={close}
    >
      <Loaded resource={plan} waiting="Computing the plan…">
        {({ summary, changes }) => <PlanSummary summary={summary} changes={changes} to={`Release ${release}`} />}
      </Loaded>
      <CopyCommands
        request={{ method: "POST", path: "/v1/deployment/rollback", json: { name, release } }}
        cli={cliOf("rollback", name, String(release))}
      />
    </Confirm>
  );
};

const authorOf = ({ created_by: { kind, label, id } }: Release): string => `${kind} ${label || id}`.trim();

interface RowProps {
  readonly release: Release;
  readonly serving: number | null;
  readonly rollBack: (release: number) => void;
}

const Row = ({ release: one, serving, rollBack }: RowProps) => (
  <tr>
    <th scope="row">{one.release}</th>
    <td data-label="Status">
      <Status status={one.status} />
    </td>
    <td data-label="Created">
      <span>
        <Ago time={one.created_at} /> <span class="dim">by {authorOf(one)}</span>
      </span>
    </td>
    <td class="message" data-label="Message">
      {one.rolled_back_to !== null && `Rollback to ${one.rolled_back_to}. `}
      <Text max={300}>{one.message ?? ""}</Text>
    </td>
    <td data-label="Actions">
      <div class="buttons">
        {serving !== null && one.release !== serving && (
          <button
            type="button"
            aria-label={`Compare release ${one.release} with the serving one`}
            onClick={() => replaceQuery({ from: String(one.release), to: String(serving) })}
          >
            Compare
          </button>
        )}
        {one.status === "replaced" && (
          <button
            type="button"
            aria-label={`Roll back to release ${one.release}`}
            onClick={() => rollBack(one.release)}
          >
            Roll back
          </button>
        )}
      </div>
    </td>
  </tr>
);

const releaseIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

export const Releases = ({ name, serving }: { readonly name: string; readonly serving: number | null }) => {
  const releases = useResource(`releases ${name} ${serving}`, (signal) =>
    client.listReleases({ name, limit: LIMIT }, { signal }),
  );
  const [target, setTarget] = useState<number | undefined>(undefined);
  const { query } = location.value;
  const [from, to] = [releaseIn(query["from"]), releaseIn(query["to"])];
  return (
    <>
      {from !== undefined && to !== undefined && <Diff name={name} from={from} to={to} />}
      <Loaded resource={releases} waiting="Loading the releases…">
        {({ releases: rows, next_page_token }) =>
          rows.length === 0 ? (
            <section class="empty">
              <h2>No releases</h2>
              <p>A deploy creates a release when it receives traffic.</p>
              <Command text="portside deploy ." />
            </section>
          ) : (
            <>
              <Table caption="Releases" columns={["Release", "Status", "Created", "Message", "Actions"]}>
                {rows.map((one) => (
                  <Row key={one.release} release={one} serving={serving} rollBack={setTarget} />
                ))}
              </Table>
              {next_page_token !== null && <p class="dim">Shows the newest {LIMIT} releases.</p>}
            </>
          )
        }
      </Loaded>
      {target !== undefined && <Rollback name={name} release={target} close={() => setTarget(undefined)} />}
    </>
  );
};
