/** One deployment: its state, its releases, its deploys and its log. */
import { CopyCommands } from "../components/copy.tsx";
import { lazy } from "../components/lazy.tsx";
import { Loaded, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Status } from "../components/status.tsx";
import { LogsPage } from "../logs/logs-page.tsx";
import { fragmentOf, type Section, sections } from "../shell/routes.ts";
import { client } from "../shell/session.ts";
import { Actions } from "./actions.tsx";
import { DeployTable } from "./deploys-page.tsx";
import { Overview } from "./overview.tsx";
import { Releases } from "./releases.tsx";

const DeployForm = lazy(async () => (await import("./deploy-form.tsx")).DeployForm, "Loading the page…");

const REFRESH_MS = 5000;

const labels: Readonly<Record<Section, string>> = {
  overview: "Overview",
  releases: "Releases",
  deploys: "Deploys",
  logs: "Logs",
  settings: "Settings",
};

const Sections = ({ name, current }: { readonly name: string; readonly current: Section }) => (
  <nav class="sections" aria-label="Deployment">
    {sections.map((section) => (
      <a
        key={section}
        href={fragmentOf({ page: "deployment", name, section })}
        aria-current={section === current ? "page" : undefined}
      >
        {labels[section]}
      </a>
    ))}
  </nav>
);

export const DeploymentPage = ({ name, section }: { readonly name: string; readonly section: Section }) => {
  const deployment = useResource(name, (signal) => client.getDeployment({ name }, { signal }), REFRESH_MS);
  const details = deployment.data.value;
  return (
    <>
      <div class="title">
        <h1>{name}</h1>
        {details !== undefined && <Status status={details.status} />}
        {details !== undefined && details.url !== "" && (
          <a class="address" href={details.url} target="_blank" rel="noreferrer">
            {details.url.replace(/^https?:\/\//, "")}
          </a>
        )}
        {details !== undefined && <Actions name={name} hasSchedule={details.schedule !== null} />}
      </div>
      <Sections name={name} current={section} />
      {section === "overview" && (
        <Loaded resource={deployment} waiting="Loading the deployment…">
          {(loaded) => (
            <>
              <Overview details={loaded} />
              <CopyCommands
                request={{ method: "GET", path: "/v1/deployment/get", query: { name } }}
                cli={cliOf("status", name)}
              />
            </>
          )}
        </Loaded>
      )}
      {section === "releases" && <Releases name={name} serving={details?.release ?? null} />}
      {section === "deploys" && <DeployTable name={name} />}
      {section === "logs" && <LogsPage name={name} />}
      {section === "settings" && (
        <Loaded resource={deployment} waiting="Loading the deployment…">
          {(loaded) => <DeployForm current={loaded} />}
        </Loaded>
      )}
    </>
  );
};
