/** Deploys a source with settings: a new deployment, or a new release of an existing one. */

import { properties } from "virtual:deploy-schema";
import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { deploymentNameFrom } from "../../../core/domain/wire/names.ts";
import { ApiError } from "../../client/index.ts";
import { deploySource, isLargeSource, type PackedSource, SOURCE_VOLUME } from "../../client/storage/deploy-source.ts";
import { CopyButton, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { formatBytes, formatCounted } from "../components/format.ts";
import { Problem } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { holdPage } from "../shell/hold-page.ts";
import { location } from "../shell/router.ts";
import { client } from "../shell/session.ts";
import { blobSource } from "../volumes/send-file.ts";
import { openDeploy, openLargeDeploy } from "./actions.tsx";
import { PlanSummary } from "./plan-summary.tsx";
import {
  fieldsOf,
  formOf,
  groups,
  otherIssues,
  problemsOf,
  repetitions,
  type Values,
  valuesOf,
} from "./settings/fields.ts";
import { SchemaField } from "./settings/schema-field.tsx";
import { Suggestions } from "./settings/suggestions.tsx";
import { Variables } from "./settings/variables.tsx";
import { archiveOfSource, type ChosenSource } from "./source/chosen-source.ts";
import { type ExaminedSource, SourcePicker } from "./source/source-picker.tsx";

type Details = Awaited<ReturnType<typeof client.getDeployment>>;
type Plan = Awaited<ReturnType<typeof client.plan>>;
type DeployRequest = Parameters<typeof client.deploy>[0];
type Issue = ApiError["issues"][number];

/**
 * The form of an existing deployment has no variables, because the API never returns their values. A deploy that omits
 * `env` keeps them.
 */
const shownGroups = (current: Details | undefined) =>
  groups.filter(([, names]) => current === undefined || !names.includes("env"));

/** A request with fields that the API validates. */
const requestOf = (name: string, fields: Values): DeployRequest =>
  ({ function_name: name, ...fields }) as unknown as DeployRequest;

/** The text of a `portside.json` with these settings. */
const projectFileOf = (name: string, fields: Values): string => JSON.stringify({ name, ...fields }, null, 2);

const issuesOf = (error: unknown): readonly Issue[] => (error instanceof ApiError ? error.issues : []);

interface SendOptions {
  readonly report: (progress: string) => void;
  /** Cancels the deploy until it has started. */
  readonly signal: AbortSignal;
}

/** Packs and sends the source, and opens the page of the deploy. */
const send = async (source: ChosenSource, request: DeployRequest, { report, signal }: SendOptions) => {
  const archive = await archiveOfSource(source, ({ done, total }) => {
    signal.throwIfAborted();
    report(`Packing ${done} of ${formatCounted(total, "file", "files")}…`);
  });
  const size = formatBytes(archive.size);
  const isLarge = isLargeSource(archive.size);
  report(`Uploading ${size}…`);
  const packed: PackedSource = {
    bytes: archive.size,
    archive,
    upload: (onSent) => blobSource(archive, "source.tar.gz", onSent),
  };
  const onUpload = (sent: number) =>
    report(`Uploading ${formatBytes(sent)} of ${size} to the volume '${SOURCE_VOLUME}'…`);
  const started = await deploySource(client, request, packed, { signal, onUpload });
  await (isLarge ? openLargeDeploy(started) : openDeploy(started));
};

interface NameFieldProps {
  readonly name: string;
  readonly problems: readonly string[];
  readonly change: (name: string) => void;
}

const CHECK_MS = 300;

/** The name of a new deployment. Reports an unavailable name before the deploy begins. */
const NameField = ({ name, problems, change }: NameFieldProps) => {
  const id = useId();
  const reason = useSignal("");
  useEffect(() => {
    reason.value = "";
    if (name === "") return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      client.checkName({ name }, { signal: controller.signal }).then(
        (found) => {
          reason.value = found.reason;
        },
        // The deploy reports the problem.
        () => {},
      );
    }, CHECK_MS);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [name]);
  const shown = problems.length > 0 ? problems : [reason.value].filter((one) => one !== "");
  return (
    <div class="field">
      <label for={id}>Name</label>
      <input
        id={id}
        value={name}
        placeholder="my-app"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={shown.length > 0}
        aria-describedby={`${id}-help ${id}-problem`}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <p id={`${id}-help`} class="help">
        The name becomes the host name of the service.
      </p>
      <p id={`${id}-problem`} class="field-problem" role="alert">
        {shown.join(" ")}
      </p>
    </div>
  );
};

interface CommandsProps {
  readonly name: string;
  readonly fields: Values;
}

const Commands = ({ name, fields }: CommandsProps) => (
  <div class="buttons">
    <CopyCommands
      request={{
        method: "POST",
        path: "/v1/deploy",
        form: formOf({ function_name: name, ...fields }),
        files: { source_archive: "source.tar.gz" },
      }}
      cli={cliOf("deploy", ".", "--name", name)}
    />
    <CopyButton text={projectFileOf(name, fields)} label="portside.json" />
  </div>
);

interface PlannedDeploy {
  readonly plan: Plan;
  readonly request: DeployRequest;
  readonly fields: Values;
}

interface ProgressProps {
  readonly text: string;
  /** Undefined if the work cannot be cancelled. */
  readonly cancel: (() => void) | undefined;
}

const Progress = ({ text, cancel }: ProgressProps) => (
  <>
    <span role="status">{text}</span>
    {cancel !== undefined && (
      <button type="button" onClick={cancel}>
        Cancel the deploy
      </button>
    )}
  </>
);

export const DeployForm = ({ current }: { readonly current: Details | undefined }) => {
  const chosen = useSignal<ExaminedSource | undefined>(undefined);
  const typedName = useSignal("");
  const values = useSignal<Values>(valuesOf(properties, { ...current }));
  const issues = useSignal<readonly Issue[]>([]);
  const error = useSignal<unknown>(undefined);
  const planned = useSignal<PlannedDeploy | undefined>(undefined);
  const progress = useSignal("");
  const running = useSignal<AbortController | undefined>(undefined);
  const showsSettings = useSignal(false);
  const name = current?.name ?? typedName.value;
  const shown = shownGroups(current);
  const fieldNames = ["function_name", ...shown.flatMap(([, names]) => names)];

  const choose = (examined: ExaminedSource): void => {
    chosen.value = examined;
    const { project, source } = examined;
    if (project !== undefined) values.value = valuesOf(properties, project, values.value);
    const wanted = typeof project?.["name"] === "string" ? project["name"] : deploymentNameFrom(source.name);
    if (typedName.value === "" && wanted !== undefined) typedName.value = wanted;
  };

  /** The fields of the request. Includes the variables of `portside.json`, even for an existing deployment. */
  const readFields = (): Values => {
    const { env, ...others } = fieldsOf(values.value);
    const declaresEnv = current === undefined || chosen.value?.project?.["env"] !== undefined;
    return { ...others, ...(declaresEnv ? { env } : {}) };
  };

  const showIssues = (found: readonly Issue[]): void => {
    issues.value = found;
    if (otherIssues(found, ["function_name"]).length > 0) showsSettings.value = true;
  };

  const fail = (problem: unknown): void => {
    showIssues(issuesOf(problem));
    error.value = otherIssues(issues.value, fieldNames).length > 0 || issues.value.length === 0 ? problem : undefined;
  };

  const run = async (request: DeployRequest): Promise<void> => {
    if (chosen.value === undefined) throw new Error("Choose a source first.");
    const release = holdPage();
    const controller = new AbortController();
    running.value = controller;
    const report = (text: string) => {
      progress.value = text;
    };
    try {
      await send(chosen.value.source, request, { report, signal: controller.signal });
    } catch (problem) {
      if (controller.signal.aborted) throw new Error("The deploy was cancelled. To start over, choose Deploy again.");
      throw problem;
    } finally {
      release();
      running.value = undefined;
      progress.value = "";
    }
  };

  const submit = async (): Promise<void> => {
    error.value = undefined;
    showIssues(repetitions(values.value).map((one) => ({ ...one, type: "value_error" })));
    if (issues.value.length > 0) return;
    const fields = readFields();
    const request = requestOf(name, fields);
    progress.value = "Computing the plan…";
    try {
      const plan = await client.plan(request);
      progress.value = "";
      const isPlain = plan.action === "create" && plan.adjustments.length === 0;
      if (isPlain && chosen.value !== undefined) await run(request);
      else planned.value = { plan, request, fields };
    } catch (problem) {
      progress.value = "";
      fail(problem);
    }
  };

  const isBusy = progress.value !== "";
  const cancel = running.value && (() => running.value?.abort());
  const settings = (
    <div class="cards">
      {shown.map(([title, names]) => (
        <section key={title} class="card settings">
          <h2>{title}</h2>
          {names.map((field) => (
            <SchemaField
              key={field}
              name={field}
              schema={properties[field] ?? {}}
              value={values.value[field]}
              problems={problemsOf(issues.value, field)}
              change={(value) => {
                values.value = { ...values.value, [field]: value };
              }}
            />
          ))}
        </section>
      ))}
    </div>
  );
  return (
    <div class="deploy-form">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <SourcePicker
          chosen={chosen}
          choose={choose}
          example={current !== undefined ? "none" : location.value.query["source"] === "example" ? "chosen" : "offered"}
        />
        {current === undefined && (
          <section class="card">
            <NameField
              name={typedName.value}
              problems={problemsOf(issues.value, "function_name").map(({ message }) => message)}
              change={(next) => {
                typedName.value = next;
              }}
            />
          </section>
        )}
        {current === undefined ? (
          <details
            class="more"
            open={showsSettings.value}
            onToggle={({ currentTarget }) => {
              showsSettings.value = currentTarget.open;
            }}
          >
            <summary>Settings</summary>
            {settings}
          </details>
        ) : (
          settings
        )}
        {error.value !== undefined && <Problem error={error.value} />}
        {current !== undefined && (
          <p class="help">
            These settings change only with a deploy, which needs the source of the service. The button{" "}
            <strong>Copy CLI</strong> copies the command that deploys the folder of the service. To change only
            variables, use the card <strong>Variables</strong>.
          </p>
        )}
        <div class="buttons form-end">
          <button type="submit" class="primary" disabled={isBusy || name === ""}>
            {current === undefined ? "Deploy" : "Show the plan"}
          </button>
          <Progress text={progress.value} cancel={cancel} />
          {name !== "" && <Commands name={name} fields={readFields()} />}
        </div>
      </form>
      {current !== undefined && <Variables name={current.name} names={current.env} />}
      <Suggestions />
      {planned.value !== undefined && (
        <Confirm
          title={planned.value.plan.action === "create" ? `Create ${name}?` : `Deploy ${name}?`}
          action="Deploy"
          disabled={chosen.value === undefined}
          run={() => run((planned.value as PlannedDeploy).request)}
          close={() => {
            planned.value = undefined;
          }}
        >
          <PlanSummary {...planned.value.plan} to="After the deploy" />
          {planned.value.plan.action === "update" && planned.value.plan.changes.length === 0 && (
            <p>The settings stay the same.</p>
          )}
          {chosen.value === undefined && (
            <p>
              A deploy needs the source of the service. Close this dialog, and choose the folder or the tar.gz first.
            </p>
          )}
          {progress.value !== "" && (
            <p>
              <Progress text={progress.value} cancel={cancel} />
            </p>
          )}
          <Commands name={name} fields={planned.value.fields} />
        </Confirm>
      )}
    </div>
  );
};
