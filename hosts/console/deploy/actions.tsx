/** The actions on a deployment: restart, run the schedule, delete. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { announcement, CopyCommands } from "../components/copy.tsx";
import { Confirm, ConfirmName } from "../components/dialog.tsx";
import { cliOf } from "../components/shell-words.ts";
import { navigate } from "../shell/router.ts";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";

type Stream = Awaited<ReturnType<typeof client.restartDeployment>>;

/** Opens the page of a deploy that has started. The deploy continues without this stream. */
export const openDeploy = async (stream: Stream): Promise<void> => {
  const { value } = await stream.next();
  await stream.return(undefined);
  if (value !== undefined) navigate({ page: "deploy", id: value.deploy_id });
};

const readToEnd = async (stream: Stream): Promise<void> => {
  for await (const _ of stream);
};

/**
 * Opens the page of a deploy of a large source. Reads the stream to its end, so that the uploaded object is deleted. If
 * the stream fails, a later deploy deletes the object.
 */
export const openLargeDeploy = async (stream: Stream): Promise<void> => {
  const { value } = await stream.next();
  if (value !== undefined) navigate({ page: "deploy", id: value.deploy_id });
  void readToEnd(stream).catch(() => {});
};

interface ActionProps {
  readonly name: string;
  readonly close: () => void;
}

const Restart = ({ name, close }: ActionProps) => (
  <Confirm
    title={`Restart ${name}?`}
    action="Restart"
    run={async () => openDeploy(await client.restartDeployment({ name }))}
    close={close}
  >
    <p>New instances replace the current ones without a build. The current ones serve until the new ones are ready.</p>
    <CopyCommands
      request={{ method: "POST", path: "/v1/deployment/restart", json: { name } }}
      cli={cliOf("restart", name)}
    />
  </Confirm>
);

const Fire = ({ name, close }: ActionProps) => (
  <Confirm
    title={`Run the schedule of ${name} now?`}
    action="Run now"
    run={async () => {
      const { fire_id } = await client.fireSchedule({ name });
      announcement.value = `The run ${fire_id} has started. Its outcome is in the log.`;
    }}
    close={close}
  >
    <p>
      The platform sends <code>POST /cron</code> to the service, and retries as for a scheduled run.
    </p>
    <CopyCommands
      request={{ method: "POST", path: "/v1/deployment/fire", json: { name } }}
      cli={cliOf("cron", "run", name)}
    />
  </Confirm>
);

const Delete = ({ name, close }: ActionProps) => (
  <ConfirmName
    title={`Delete ${name}?`}
    action="Delete"
    name={name}
    run={async () => {
      const { detail } = await client.deleteDeployment({ name });
      announcement.value = detail;
      navigate({ page: "deployments" });
    }}
    close={close}
    commands={
      <CopyCommands
        request={{ method: "POST", path: "/v1/deployment/delete", json: { name } }}
        cli={cliOf("remove", name)}
      />
    }
  >
    <p>
      The service stops and its schedule ends. Volumes keep their data, and the log stays readable until its retention
      time ends.
    </p>
  </ConfirmName>
);

const dialogs = { fire: Fire, restart: Restart, delete: Delete } as const;

export type DeploymentAction = keyof typeof dialogs;

/** The actions with the labels of their buttons. */
export const deploymentActions: Readonly<Record<DeploymentAction, string>> = {
  fire: "Run schedule",
  restart: "Restart",
  delete: "Delete",
};

const opened = signal<{ readonly name: string; readonly action: DeploymentAction } | undefined>(undefined);

/** Opens the dialog of an action as soon as the page of the deployment is open. */
export const openAction = (name: string, action: DeploymentAction): void => {
  opened.value = { name, action };
};

const closeAction = (): void => {
  opened.value = undefined;
};

export const Actions = ({ name, hasSchedule }: { readonly name: string; readonly hasSchedule: boolean }) => {
  const open = opened.value?.name === name ? opened.value.action : undefined;
  const Open = open === undefined ? undefined : dialogs[open];
  // Leaving the page closes its dialog.
  useEffect(
    () => () => {
      if (opened.peek()?.name === name) closeAction();
    },
    [name],
  );
  return (
    <div class="buttons">
      <a class="button" href={fragmentOf({ page: "deployment", name, section: "settings" })}>
        Deploy
      </a>
      {hasSchedule && (
        <button type="button" onClick={() => openAction(name, "fire")}>
          {deploymentActions.fire}
        </button>
      )}
      <button type="button" onClick={() => openAction(name, "restart")}>
        {deploymentActions.restart}
      </button>
      <button type="button" class="danger" onClick={() => openAction(name, "delete")}>
        {deploymentActions.delete}
      </button>
      {Open !== undefined && <Open name={name} close={closeAction} />}
    </div>
  );
};
