/** The account's own domains, with the DNS records that they need. */
import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import { announcement, Command, CopyButton, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Loaded, Problem, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Status } from "../components/status.tsx";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Ago, Time } from "../components/time.tsx";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";
import "./domains.css";

type Domain = Awaited<ReturnType<typeof client.listDomains>>[number];

const REFRESH_MS = 10_000;

interface AddProps {
  readonly close: () => void;
  readonly added: () => void;
}

const Add = ({ close, added }: AddProps) => {
  const [domain, setDomain] = useState("");
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const deployments = useResource("deployments of domains", (signal) => client.listDeployments({ signal }));
  const names = (deployments.data.value ?? []).map((one) => one.name);
  const name = chosen ?? names[0] ?? "";
  const run = async (): Promise<void> => {
    setProblem("");
    try {
      const { domain: stored, detail } = await client.addDomain({ domain, name });
      announcement.value = `Added ${stored}. ${detail}`;
      added();
    } catch (failure) {
      const issue = failure instanceof ApiError ? failure.issues.find(({ field }) => field === "domain") : undefined;
      if (issue !== undefined) setProblem(`The domain ${issue.message}.`);
      throw failure;
    }
  };
  return (
    <Confirm title="Add a domain" action="Add" disabled={domain === "" || name === ""} run={run} close={close}>
      <div class="field">
        <label for="domain-name">Domain</label>
        <input
          id="domain-name"
          autocomplete="off"
          spellcheck={false}
          placeholder="app.example.com"
          value={domain}
          aria-invalid={problem !== ""}
          aria-describedby="domain-help domain-problem"
          onInput={({ currentTarget }) => setDomain(currentTarget.value.trim())}
        />
        <p id="domain-help" class="help">
          A domain that you own. If it belongs to another of your deployments, it moves to this one.
        </p>
        <p id="domain-problem" class="field-problem">
          {problem}
        </p>
      </div>
      <div class="field">
        <label for="domain-deployment">Deployment</label>
        <select
          id="domain-deployment"
          value={name}
          disabled={names.length === 0}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {names.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        {deployments.data.value?.length === 0 && (
          <p class="help">
            You have no deployments. <a href={fragmentOf({ page: "new-deploy" })}>Deploy a service</a> first.
          </p>
        )}
        {deployments.error.value !== undefined && (
          <Problem error={deployments.error.value} retry={deployments.reload} />
        )}
      </div>
      <CopyCommands
        request={{ method: "POST", path: "/v1/domain/add", json: { domain, name } }}
        cli={cliOf("domain", "add", domain, name)}
      />
    </Confirm>
  );
};

interface RemoveProps {
  readonly row: Domain;
  readonly close: () => void;
  readonly removed: () => void;
}

const Remove = ({ row: { domain, name }, close, removed }: RemoveProps) => (
  <Confirm
    title={`Remove ${domain}?`}
    action="Remove"
    danger
    run={async () => {
      const { detail } = await client.removeDomain({ domain });
      announcement.value = detail;
      removed();
    }}
    close={close}
  >
    <p>
      Requests to the domain will no longer reach {name}. The deployment keeps its other addresses. Delete the DNS
      records afterwards.
    </p>
    <CopyCommands
      request={{ method: "POST", path: "/v1/domain/remove", json: { domain } }}
      cli={cliOf("domain", "remove", domain)}
    />
  </Confirm>
);

/** A cell with a value to copy. */
const Copied = ({ column, text }: { readonly column: string; readonly text: string }) => (
  <td data-label={column}>
    <code>
      <Text>{text}</Text>
    </code>
    <CopyButton text={text} label={column.toLowerCase()} />
  </td>
);

const Records = ({ domain, records }: Pick<Domain, "domain" | "records">) => (
  <Table caption={`DNS records of ${domain}`} class="dns" columns={["Type", "Name", "Value", "Purpose"]}>
    {records.map(({ type, name, value, purpose }) => (
      <tr key={`${type} ${name} ${value}`}>
        <th scope="row">{type}</th>
        <Copied column="Name" text={name} />
        <Copied column="Value" text={value} />
        <td data-label="Purpose">{purpose}</td>
      </tr>
    ))}
  </Table>
);

interface CardProps {
  readonly row: Domain;
  readonly changed: () => void;
  readonly remove: () => void;
}

const DomainCard = ({ row, changed, remove }: CardProps) => {
  const { domain, name, status, detail, records, checked_at, certificate } = row;
  const error = useSignal<unknown>(undefined);
  const isChecking = useSignal(false);
  const check = async (): Promise<void> => {
    isChecking.value = true;
    error.value = undefined;
    try {
      const checked = await client.checkDomain({ domain });
      announcement.value = `${domain} is ${checked.status}.`;
      changed();
    } catch (problem) {
      error.value = problem;
    } finally {
      isChecking.value = false;
    }
  };
  return (
    <section class="card domain" aria-label={domain}>
      <div class="title">
        <h2>{domain}</h2>
        <Status status={status} />
        <span class="dim">
          serves{" "}
          <a class="domain-target" href={fragmentOf({ page: "deployment", name, section: "overview" })}>
            {name}
          </a>
        </span>
        <div class="buttons">
          <button type="button" aria-label={`Check ${domain}`} disabled={isChecking.value} onClick={() => void check()}>
            {isChecking.value ? "Checking…" : "Check"}
          </button>
          <CopyCommands
            request={{ method: "POST", path: "/v1/domain/check", json: { domain } }}
            cli={cliOf("domain", "check", domain, "--wait")}
          />
          <button type="button" class="danger" aria-label={`Remove ${domain}`} onClick={remove}>
            Remove
          </button>
        </div>
      </div>
      <p class="domain-detail">
        <Text>{detail}</Text>
      </p>
      <p class="dim">
        {checked_at === null ? (
          "No check has run yet."
        ) : (
          <>
            Last check: <Ago time={checked_at} />.
          </>
        )}
        {certificate !== null && (
          <>
            {" "}
            The certificate {Date.parse(certificate.not_after) < Date.now() ? "expired" : "expires"} on{" "}
            <Time time={certificate.not_after} />.
          </>
        )}
      </p>
      {error.value !== undefined && <Problem error={error.value} retry={() => void check()} />}
      <details class="more" open={status !== "active"}>
        <summary>DNS records</summary>
        <Records domain={domain} records={records} />
      </details>
    </section>
  );
};

const Empty = () => (
  <section class="empty">
    <h2>No domains yet</h2>
    <p>A deployment can serve a domain that you own. Add one here, or with a command:</p>
    <Command text={cliOf("domain", "add", "app.example.com", "my-app")} />
  </section>
);

/** Shows why the platform does not manage domains. */
const NotOffered = ({ message }: { readonly message: string }) => (
  <section class="empty">
    <h2>This platform does not manage domains</h2>
    <p>{message}</p>
  </section>
);

const isNotOffered = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 501;

export const DomainsPage = () => {
  const list = useResource("domains", (signal) => client.listDomains({ signal }), REFRESH_MS);
  const [adds, setAdds] = useState(false);
  const [removes, setRemoves] = useState<Domain | undefined>(undefined);
  const error = list.error.value;
  return (
    <>
      <div class="title">
        <h1>Domains</h1>
        {!isNotOffered(error) && (
          <div class="buttons">
            <button type="button" onClick={() => setAdds(true)}>
              Add domain
            </button>
            <CopyCommands request={{ method: "GET", path: "/v1/domain/list" }} cli={cliOf("domain", "list")} />
          </div>
        )}
      </div>
      {isNotOffered(error) ? (
        <NotOffered message={error.message} />
      ) : (
        <Loaded resource={list} waiting="Loading the domains…">
          {(domains) =>
            domains.length === 0 ? (
              <Empty />
            ) : (
              <div class="domains">
                {domains.map((row) => (
                  <DomainCard key={row.domain} row={row} changed={list.reload} remove={() => setRemoves(row)} />
                ))}
              </div>
            )
          }
        </Loaded>
      )}
      {adds && <Add close={() => setAdds(false)} added={list.reload} />}
      {removes !== undefined && <Remove row={removes} close={() => setRemoves(undefined)} removed={list.reload} />}
    </>
  );
};
