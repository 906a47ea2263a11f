/** The state of a deployment: charts, instances, last deploy, settings, schedule, mounts, variables and secrets. */
import type { ComponentChildren } from "preact";
import { formatBytes } from "../components/format.ts";
import { Loaded, useResource } from "../components/resource.tsx";
import { Status } from "../components/status.tsx";
import { Table } from "../components/table.tsx";
import { OutputLines, Text } from "../components/text.tsx";
import { Ago, Time } from "../components/time.tsx";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";
import { Charts } from "../usage/charts.tsx";

type Details = Awaited<ReturnType<typeof client.getDeployment>>;

const Card = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section class="card">
    <h2>{title}</h2>
    {children}
  </section>
);

const Instances = ({ instances }: Pick<Details, "instances">) => {
  if (instances === null) return <p class="dim">The platform cannot list the instances at the moment.</p>;
  if (instances.length === 0) return <p class="dim">No instances are running. The next request starts one.</p>;
  return (
    <Table caption="Instances" columns={["Instance", "State", "Memory", "CPU", "Started"]}>
      {instances.map((one) => (
        <tr key={one.id}>
          <th scope="row">
            <code>{one.id}</code>
          </th>
          <td data-label="State">
            <Status status={one.state} />
          </td>
          <td data-label="Memory">{one.memory_bytes === null ? "–" : formatBytes(one.memory_bytes)}</td>
          <td data-label="CPU">{one.cpu_percent === null ? "–" : `${Math.round(one.cpu_percent)} %`}</td>
          <td data-label="Started">
            <Ago time={one.started_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
};

const LastDeploy = ({ last }: { readonly last: NonNullable<Details["last_deploy"]> }) => (
  <>
    <p class="facts">
      <a href={fragmentOf({ page: "deploy", id: last.deploy_id })}>
        <Status status={last.status} />
      </a>
      {last.finished_at !== null && <Ago time={last.finished_at} />}
      {last.reason !== null && <code>{last.reason}</code>}
    </p>
    {last.message !== null && (
      <p>
        <Text>{last.message}</Text>
      </p>
    )}
    {last.log_tail.length > 0 && <OutputLines lines={last.log_tail} />}
  </>
);

const Schedule = ({ schedule, cron }: Pick<Details, "schedule" | "cron">) => {
  if (schedule === null) return <p class="dim">None</p>;
  const last = cron?.last ?? null;
  return (
    <>
      <p>
        <code>{schedule.cron}</code> {schedule.timezone || "UTC"}
      </p>
      {last !== null && (
        <p>
          Last run <Ago time={last.at} />: {last.status === null ? "no response" : `status ${last.status}`}
          {last.attempts > 1 && `, ${last.attempts} attempts`}
        </p>
      )}
      <h3>Next runs</h3>
      <ul class="plain">
        {(cron?.next_fires ?? []).map((time) => (
          <li key={time}>
            <Time time={time} />
          </li>
        ))}
      </ul>
    </>
  );
};

const Mounts = ({ volumes }: Pick<Details, "volumes">) => {
  const mounts = Object.entries(volumes);
  if (mounts.length === 0) return <p class="dim">None</p>;
  return (
    <dl class="pairs">
      {mounts.map(([path, { name, read_only, sub_path }]) => (
        <div key={path}>
          <dt>
            <code>{path}</code>
          </dt>
          <dd>
            {name}
            {sub_path !== undefined && `/${sub_path}`}
            {read_only && <span class="dim"> read-only</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
};

const Names = ({ names }: { readonly names: readonly string[] }) =>
  names.length === 0 ? (
    <p class="dim">None</p>
  ) : (
    <ul class="plain">
      {names.map((name) => (
        <li key={name}>
          <code>
            <Text>{name}</Text>
          </code>
        </li>
      ))}
    </ul>
  );

/** The secrets that the newest release uses, with their versions. */
const Secrets = ({ name, release }: Pick<Details, "name" | "release">) => {
  const releases = useResource(`secrets ${name} ${release}`, (signal) =>
    client.listReleases({ name, limit: 1 }, { signal }),
  );
  return (
    <Loaded resource={releases} waiting="Loading the secrets…">
      {({ releases: [newest] }) => {
        const secrets = Object.entries(newest?.secrets ?? {});
        return secrets.length === 0 ? (
          <p class="dim">None</p>
        ) : (
          <dl class="pairs">
            {secrets.map(([secret, version]) => (
              <div key={secret}>
                <dt>
                  <code>{secret}</code>
                </dt>
                <dd>version {version}</dd>
              </div>
            ))}
          </dl>
        );
      }}
    </Loaded>
  );
};

const settingsOf = (details: Details): readonly (readonly [string, ComponentChildren])[] => [
  ["Release", details.release ?? "–"],
  ["Revision", details.revision === null ? "–" : <code>{details.revision}</code>],
  ["Region", details.region],
  ["Memory", details.memory],
  ["CPU", details.cpu],
  [
    "Instances",
    `${details.min_instances} to ${details.max_instances === 0 ? "the platform’s limit" : details.max_instances}`,
  ],
  ["Concurrency", details.concurrency],
  ["Request timeout", `${details.timeout} s`],
  ["Port", details.port],
  ["Health check", details.health === null ? "None" : `${details.health.path} every ${details.health.interval} s`],
  ["When idle", details.idle ?? "Platform default"],
  ["Updated", <Ago time={details.updated_at} />],
];

export const Overview = ({ details }: { readonly details: Details }) => (
  <div class="overview">
    <Charts name={details.name} />
    <Card title="Instances">
      <Instances instances={details.instances} />
    </Card>
    {details.last_deploy !== null && (
      <Card title="Last deploy">
        <LastDeploy last={details.last_deploy} />
      </Card>
    )}
    <div class="cards">
      <Card title="Settings">
        <dl class="pairs">
          {settingsOf(details).map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
      <Card title="Schedule">
        <Schedule schedule={details.schedule} cron={details.cron} />
      </Card>
      <Card title="Mounts">
        <Mounts volumes={details.volumes} />
      </Card>
      <Card title="Variables">
        <Names names={details.env} />
      </Card>
      {details.release !== null && (
        <Card title="Secrets">
          <Secrets name={details.name} release={details.release} />
        </Card>
      )}
    </div>
  </div>
);
