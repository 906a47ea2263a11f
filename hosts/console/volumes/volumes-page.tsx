/** The volumes of the account, and the trash. */
import { useRef, useState } from "preact/hooks";
import { announcement, Command, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Loaded, type Resource, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Table } from "../components/table.tsx";
import { Ago, Time } from "../components/time.tsx";
import { navigate } from "../shell/router.ts";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";
import "./volumes.css";

type Volume = Awaited<ReturnType<typeof client.listVolumes>>[number];
type Trashed = Awaited<ReturnType<typeof client.listTrash>>[number];

const REFRESH_MS = 10_000;

const Create = ({ close }: { readonly close: () => void }) => {
  const input = useRef<HTMLInputElement>(null);
  const [name, setName] = useState("");
  return (
    <Confirm
      title="Create a volume"
      action="Create"
      disabled={name === ""}
      run={async () => {
        await client.createVolume({ name });
        navigate({ page: "volume", name });
      }}
      close={close}
    >
      <label for="volume-name">Name</label>
      <input
        ref={input}
        id="volume-name"
        autocomplete="off"
        spellcheck={false}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value.trim())}
      />
      <p class="help">1 to 40 lowercase letters, digits and hyphens, without a hyphen at the start or the end.</p>
      <CopyCommands
        request={{ method: "POST", path: "/v1/volume/create", json: { name } }}
        cli={cliOf("volume", "create", name)}
      />
    </Confirm>
  );
};

/** Links to the deployments that mount a volume. */
export const MountedBy = ({ names }: { readonly names: readonly string[] }) =>
  names.length === 0 ? (
    <span class="dim">No deployment</span>
  ) : (
    <span class="mounted-by">
      {names.map((name) => (
        <a key={name} href={fragmentOf({ page: "deployment", name, section: "overview" })}>
          {name}
        </a>
      ))}
    </span>
  );

const VolumeTable = ({ volumes }: { readonly volumes: readonly Volume[] }) => (
  <Table caption="Volumes" columns={["Name", "Mounted by", "Created"]}>
    {volumes.map(({ name, id, attached_to, created_at }) => (
      <tr key={id}>
        <th scope="row">
          <a href={fragmentOf({ page: "volume", name })}>{name}</a>
        </th>
        <td data-label="Mounted by">
          <MountedBy names={attached_to} />
        </td>
        <td data-label="Created">
          <Ago time={created_at} />
        </td>
      </tr>
    ))}
  </Table>
);

const Empty = () => (
  <section class="empty">
    <h2>No volumes yet</h2>
    <p>A volume stores files, which deployments can mount. Create one here, or with a command:</p>
    <Command text={cliOf("volume", "create", "my-data")} />
  </section>
);

interface RestoreProps {
  readonly volume: Trashed;
  readonly close: () => void;
  readonly restored: () => void;
}

const Restore = ({ volume: { name, id }, close, restored }: RestoreProps) => (
  <Confirm
    title={`Restore ${name}?`}
    action="Restore"
    run={async () => {
      await client.restoreVolume({ name, id });
      announcement.value = `Restored the volume ${name} with its content.`;
      restored();
    }}
    close={close}
  >
    <p>This restores the volume with all its objects.</p>
    <CopyCommands
      request={{ method: "POST", path: "/v1/volume/restore", json: { name, id } }}
      cli={cliOf("volume", "restore", name, "--id", id)}
    />
  </Confirm>
);

const Trash = ({
  trash,
  restored,
}: {
  readonly trash: Resource<readonly Trashed[]>;
  readonly restored: () => void;
}) => {
  const [chosen, choose] = useState<Trashed | undefined>(undefined);
  return (
    <section class="trash" aria-labelledby="trash-title">
      <h2 id="trash-title">Trash</h2>
      <Loaded resource={trash} waiting="Loading the trash…">
        {(deleted) =>
          deleted.length === 0 ? (
            <p class="dim">The trash is empty. It keeps deleted volumes for 7 days.</p>
          ) : (
            <Table caption="Deleted volumes" columns={["Name", "Deleted", "Restorable until", "Action"]}>
              {deleted.map((volume) => (
                <tr key={volume.id}>
                  <th scope="row">{volume.name}</th>
                  <td data-label="Deleted">
                    <Ago time={volume.deleted_at} />
                  </td>
                  <td data-label="Restorable until">
                    <Time time={volume.expires_at} />
                  </td>
                  <td class="actions">
                    <button type="button" aria-label={`Restore ${volume.name}`} onClick={() => choose(volume)}>
                      Restore
                    </button>
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      {chosen !== undefined && <Restore volume={chosen} close={() => choose(undefined)} restored={restored} />}
    </section>
  );
};

export const VolumesPage = () => {
  const list = useResource("volumes", (signal) => client.listVolumes({ signal }), REFRESH_MS);
  const trash = useResource("trash", (signal) => client.listTrash({ signal }), REFRESH_MS);
  const [creates, setCreates] = useState(false);
  const reload = () => {
    list.reload();
    trash.reload();
  };
  return (
    <>
      <div class="title">
        <h1>Volumes</h1>
        <div class="buttons">
          <button type="button" onClick={() => setCreates(true)}>
            Create volume
          </button>
          <CopyCommands request={{ method: "GET", path: "/v1/volume/list" }} cli={cliOf("volume", "ls")} />
        </div>
      </div>
      <Loaded resource={list} waiting="Loading the volumes…">
        {(volumes) => (volumes.length === 0 ? <Empty /> : <VolumeTable volumes={volumes} />)}
      </Loaded>
      <Trash trash={trash} restored={reload} />
      {creates && <Create close={() => setCreates(false)} />}
    </>
  );
};
