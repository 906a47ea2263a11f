/** The list of deployments, with the requests and errors of the last hour. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Command } from "../components/copy.tsx";
import { DropZone } from "../components/drop/drop-zone.tsx";
import type { DroppedItem } from "../components/drop/dropped-items.ts";
import { formatCount } from "../components/format.ts";
import { Loaded, useResource } from "../components/resource.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { sumSeries, totalOf } from "../components/sparkline-path.ts";
import { Status } from "../components/status.tsx";
import { Table } from "../components/table.tsx";
import { Ago } from "../components/time.tsx";
import { location, navigate, replaceQuery } from "../shell/router.ts";
import { fragmentOf } from "../shell/routes.ts";
import { apiUrl, client } from "../shell/session.ts";
import { dropped } from "./source/dropped.ts";

type Deployment = Awaited<ReturnType<typeof client.listDeployments>>[number];
type Details = Awaited<ReturnType<typeof client.getDeployment>>;
type Series = Awaited<ReturnType<typeof client.getMetrics>>["series"];

const REFRESH_MS = 10_000;
/** Clouds bill reads of metrics, and the table shows steps of two minutes. */
const METRICS_REFRESH_MS = 60_000;
const HOUR_MS = 3_600_000;
const STEP_S = 120;
/** The maximum number of deployments that the page reads at the same time. */
const CONCURRENCY = 4;

const loadSeries = async (signal: AbortSignal): Promise<Series> => {
  const since = new Date(Date.now() - HOUR_MS).toISOString();
  return (await client.getMetrics({ since, step: STEP_S }, { signal })).series;
};

/** Reads the deployments, a few concurrently, and reports each. */
const readDetails = async (
  names: readonly string[],
  found: (details: Details) => void,
  signal: AbortSignal,
): Promise<void> => {
  const waiting = [...names];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined && !signal.aborted; name = waiting.shift()) {
      const details = await client.getDeployment({ name }, { signal }).catch(() => undefined);
      if (details !== undefined) found(details);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
};

const Traffic = ({ name, series }: { readonly name: string; readonly series: Series }) => {
  const own = series.filter((one) => one.name === name && one.metric.startsWith("requests_"));
  if (own.length === 0) return <span class="dim">–</span>;
  const requests = sumSeries(own.map(({ points }) => points));
  const errors = sumSeries(own.filter(({ metric }) => metric === "requests_5xx").map(({ points }) => points));
  const [total, failed] = [totalOf(requests), totalOf(errors)];
  const errorText = `${formatCount(failed)} ${failed === 1 ? "error" : "errors"}`;
  const label = `${formatCount(total)} ${total === 1 ? "request" : "requests"} and ${errorText} in the last hour`;
  return (
    <span class="traffic" title={label}>
      <Sparkline points={requests} label={label} />
      <span>
        {formatCount(total)}
        {failed > 0 && <strong class="bad-text"> {errorText}</strong>}
      </span>
    </span>
  );
};

const LastDeploy = ({ deployment: { last_deploy: last, updated_at } }: { readonly deployment: Deployment }) =>
  last === null ? (
    <Ago time={updated_at} />
  ) : (
    <a href={fragmentOf({ page: "deploy", id: last.deploy_id })}>
      <Status status={last.status} /> <Ago time={last.finished_at ?? updated_at} />
    </a>
  );

interface RowProps {
  readonly deployment: Deployment;
  readonly details: Details | undefined;
  readonly series: Series;
}

const Row = ({ deployment, details, series }: RowProps) => {
  const { name, url, status } = deployment;
  return (
    <tr>
      <th scope="row">
        <a href={fragmentOf({ page: "deployment", name, section: "overview" })}>{name}</a>
        {url !== "" && (
          <a class="address" href={url} target="_blank" rel="noreferrer">
            {url.replace(/^https?:\/\//, "")}
          </a>
        )}
      </th>
      <td data-label="Status">
        <Status status={status} />
      </td>
      <td data-label="Release">{details?.release ?? "–"}</td>
      <td data-label="Instances">{details?.instances?.length ?? "–"}</td>
      <td data-label="Requests">
        <Traffic name={name} series={series} />
      </td>
      <td data-label="Last deploy">
        <LastDeploy deployment={deployment} />
      </td>
    </tr>
  );
};

const Empty = () => (
  <section class="empty">
    <h2>No deployments yet</h2>
    <p>Drop a folder on this page, or start from a small example:</p>
    <div class="buttons">
      <a class="button primary" href={fragmentOf({ page: "new-deploy" })}>
        Deploy a folder
      </a>
      <a class="button" href={fragmentOf({ page: "new-deploy" }, { source: "example" })}>
        Deploy the example
      </a>
    </div>
    <p>Or sign in on the command line, and deploy a folder:</p>
    <Command text={`portside login --url ${apiUrl}`} />
    <Command text="portside init my-app && portside deploy my-app" />
  </section>
);

interface TableProps {
  readonly deployments: readonly Deployment[];
  readonly series: Series;
}

const DeploymentTable = ({ deployments, series }: TableProps) => {
  const search = location.value.query["q"] ?? "";
  const details = useSignal<ReadonlyMap<string, Details>>(new Map());
  const names = deployments.map(({ name }) => name).join(" ");
  useEffect(() => {
    const controller = new AbortController();
    const found = (one: Details) => {
      details.value = new Map(details.value).set(one.name, one);
    };
    void readDetails(
      deployments.map(({ name }) => name),
      found,
      controller.signal,
    );
    return () => controller.abort();
  }, [names, deployments]);
  const shown = deployments.filter(({ name, url }) => `${name} ${url}`.toLowerCase().includes(search.toLowerCase()));
  return (
    <>
      <Table
        caption="Deployments"
        columns={["Name", "Status", "Release", "Instances", "Requests, last hour", "Last deploy"]}
      >
        {shown.map((one) => (
          <Row key={one.name} deployment={one} details={details.value.get(one.name)} series={series} />
        ))}
      </Table>
      {shown.length === 0 && <p class="dim">No deployment matches ‘{search}’.</p>}
    </>
  );
};

/** Opens the deploy form with the items that the user dropped. */
const openDropped = (items: readonly DroppedItem[]): void => {
  dropped.value = items;
  navigate({ page: "new-deploy" });
};

export const DeploymentsPage = () => {
  const list = useResource("deployments", (signal) => client.listDeployments({ signal }), REFRESH_MS);
  // A platform without metrics still has deployments, so the page does not show this error.
  const series = useResource("series", loadSeries, METRICS_REFRESH_MS);
  return (
    <DropZone class="page-drop" drop={openDropped}>
      <div class="title">
        <h1>Deployments</h1>
        <label class="search">
          <span class="hidden">Search deployments</span>
          <input
            type="search"
            placeholder="Search"
            value={location.value.query["q"] ?? ""}
            onInput={({ currentTarget }) => replaceQuery({ q: currentTarget.value })}
          />
        </label>
        <a class="button primary" href={fragmentOf({ page: "new-deploy" })}>
          Deploy
        </a>
      </div>
      <Loaded resource={list} waiting="Loading the deployments…">
        {(deployments) =>
          deployments.length === 0 ? (
            <Empty />
          ) : (
            <DeploymentTable deployments={deployments} series={series.data.value ?? []} />
          )
        }
      </Loaded>
    </DropZone>
  );
};
