/** Recent and running deploys, of one deployment or of all. */
import { Command } from "../components/copy.tsx";
import { formatDuration } from "../components/format.ts";
import { Loaded, useResource } from "../components/resource.tsx";
import { Status } from "../components/status.tsx";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Ago } from "../components/time.tsx";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";

type DeployRow = Awaited<ReturnType<typeof client.listDeploys>>["deploys"][number];

const REFRESH_MS = 5000;
const LIMIT = 50;

const lengthOf = ({ began_at, finished_at }: DeployRow): string => {
  if (began_at === null) return "–";
  return formatDuration((finished_at === null ? Date.now() : Date.parse(finished_at)) - Date.parse(began_at));
};

const Row = ({ row, name }: { readonly row: DeployRow; readonly name: string | undefined }) => (
  <tr>
    <th scope="row">
      <a href={fragmentOf({ page: "deploy", id: row.deploy_id })}>
        <Status status={row.status} />
      </a>
    </th>
    {name === undefined && (
      <td data-label="Deployment">
        <a href={fragmentOf({ page: "deployment", name: row.name, section: "overview" })}>{row.name}</a>
      </td>
    )}
    <td data-label="Started">{row.began_at === null ? "–" : <Ago time={row.began_at} />}</td>
    <td data-label="Duration">{lengthOf(row)}</td>
    <td class="message" data-label="Message">
      <Text max={300}>{row.message}</Text>
      {row.reason !== null && <code class="reason">{row.reason}</code>}
    </td>
  </tr>
);

/** The table of deploys. Without a name, contains the deploys of every deployment. */
export const DeployTable = ({ name }: { readonly name?: string }) => {
  const deploys = useResource(
    `deploys ${name ?? ""}`,
    (signal) => client.listDeploys({ limit: LIMIT, ...(name === undefined ? {} : { name }) }, { signal }),
    REFRESH_MS,
  );
  const labels = ["Status", ...(name === undefined ? ["Deployment"] : []), "Started", "Duration", "Message"];
  return (
    <Loaded resource={deploys} waiting="Loading the deploys…">
      {({ deploys: rows, partial }) =>
        rows.length === 0 ? (
          <section class="empty">
            <h2>No deploys</h2>
            <p>The list has the deploys that the log still contains. Start one with the command line:</p>
            <Command text="portside deploy ." />
          </section>
        ) : (
          <>
            <Table caption="Deploys" columns={labels}>
              {rows.map((row) => (
                <Row key={row.deploy_id} row={row} name={name} />
              ))}
            </Table>
            {partial && <p class="dim">The search of the logs ended early, so deploys may be missing.</p>}
          </>
        )
      }
    </Loaded>
  );
};

export const DeploysPage = () => (
  <>
    <h1>Deploys</h1>
    <DeployTable />
  </>
);
