/** A volume: the objects of a folder, or one object. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { announcement, CopyCommands } from "../components/copy.tsx";
import { ConfirmName } from "../components/dialog.tsx";
import { formatBytes } from "../components/format.ts";
import { Loaded, Problem, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Ago } from "../components/time.tsx";
import { location, navigate } from "../shell/router.ts";
import { fragmentOf } from "../shell/routes.ts";
import { client } from "../shell/session.ts";
import { ObjectView } from "./object-view.tsx";
import { nameOf, parentsOf } from "./paths.ts";
import { UploadPanel } from "./upload-panel.tsx";
import { storedCount } from "./uploads.ts";
import { MountedBy } from "./volumes-page.tsx";
import "./volumes.css";

const PAGE_SIZE = 200;
/**
 * The delay until the list shows new objects, so that an upload of many files does not reload the list once per file.
 */
const RELOAD_DELAY_MS = 500;

type Page = Awaited<ReturnType<typeof client.listObjects>>;

interface PlaceProps {
  readonly volume: string;
  /** The path of a folder with its slash, or "" for the top of the volume. */
  readonly folder: string;
}

const Breadcrumbs = ({ volume, path }: { readonly volume: string; readonly path: string }) => {
  const current = path === "" ? volume : nameOf(path);
  return (
    <nav class="breadcrumbs" aria-label="Folder">
      <a href={fragmentOf({ page: "volumes" })}>Volumes</a>
      {path !== "" && <a href={fragmentOf({ page: "volume", name: volume })}>{volume}</a>}
      {parentsOf(path).map((folder) => (
        <a key={folder} href={fragmentOf({ page: "volume", name: volume }, { folder })}>
          <Text>{nameOf(folder).slice(0, -1)}</Text>
        </a>
      ))}
      <span aria-current="page">
        <Text>{current.replace(/\/$/, "")}</Text>
      </span>
    </nav>
  );
};

const Rows = ({ volume, pages }: { readonly volume: string; readonly pages: readonly Page[] }) => (
  <Table caption="Objects" class="objects" columns={["Name", "Size", "Updated"]}>
    {pages
      .flatMap(({ folders = [] }) => folders)
      .map((folder) => (
        <tr key={folder}>
          <th scope="row">
            <a class="folder" href={fragmentOf({ page: "volume", name: volume }, { folder })}>
              <Text>{nameOf(folder)}</Text>
            </a>
          </th>
          <td data-label="Size" class="dim">
            Folder
          </td>
          <td data-label="Updated" class="dim">
            –
          </td>
        </tr>
      ))}
    {pages
      .flatMap(({ objects }) => objects)
      .map(({ path, size, updated }) => (
        <tr key={path}>
          <th scope="row">
            <a href={fragmentOf({ page: "volume", name: volume }, { object: path })}>
              <Text>{nameOf(path)}</Text>
            </a>
          </th>
          <td data-label="Size">{formatBytes(size)}</td>
          <td data-label="Updated">
            <Ago time={updated} />
          </td>
        </tr>
      ))}
  </Table>
);

const Objects = ({ volume, folder }: PlaceProps) => {
  const load = (page_token: string, signal?: AbortSignal) =>
    client.listObjects({ volume, prefix: folder, delimiter: "/", limit: PAGE_SIZE, page_token }, { signal });
  const first = useResource(`objects ${volume} ${folder}`, (signal) => load("", signal));
  const shownCount = useRef(storedCount.value);
  const more = useSignal<readonly Page[]>([]);
  const problem = useSignal<unknown>(undefined);
  const isLoading = useSignal(false);
  useEffect(() => {
    more.value = [];
    problem.value = undefined;
  }, [first.data.value]);
  useEffect(() => {
    if (shownCount.current === storedCount.value) return undefined;
    const timer = setTimeout(() => {
      shownCount.current = storedCount.value;
      first.reload();
    }, RELOAD_DELAY_MS);
    return () => clearTimeout(timer);
  }, [storedCount.value]);
  return (
    <Loaded resource={first} waiting="Loading the objects…">
      {(page) => {
        const pages = [page, ...more.value];
        const next = pages.at(-1)?.next_page_token ?? null;
        const count = pages.reduce((sum, { objects, folders = [] }) => sum + objects.length + folders.length, 0);
        const loadMore = async (): Promise<void> => {
          isLoading.value = true;
          problem.value = undefined;
          try {
            const loaded = await load(next ?? "");
            // The list may have loaded again meanwhile.
            if (first.data.value === page) more.value = [...more.value, loaded];
          } catch (error) {
            problem.value = error;
          }
          isLoading.value = false;
        };
        return (
          <>
            {count > 0 && <Rows volume={volume} pages={pages} />}
            {count === 0 && (
              <p class="dim">{folder === "" ? "The volume is empty." : "The folder is empty."} Upload files above.</p>
            )}
            {problem.value !== undefined && <Problem error={problem.value} />}
            {next !== null && (
              <button type="button" disabled={isLoading.value} onClick={() => void loadMore()}>
                Show more objects
              </button>
            )}
          </>
        );
      }}
    </Loaded>
  );
};

const DeleteVolume = ({ name, close }: { readonly name: string; readonly close: () => void }) => (
  <ConfirmName
    title={`Delete ${name}?`}
    action="Delete"
    name={name}
    run={async () => {
      const { detail } = await client.deleteVolume({ name });
      announcement.value = detail;
      navigate({ page: "volumes" });
    }}
    close={close}
    commands={
      <CopyCommands
        request={{ method: "POST", path: "/v1/volume/delete", json: { name } }}
        cli={cliOf("volume", "delete", name)}
      />
    }
  >
    <p>The volume moves to the trash with its objects. You can restore it for 7 days.</p>
  </ConfirmName>
);

/** The deployments that mount the volume. The list of objects reports a missing volume. */
const Mounts = ({ name }: { readonly name: string }) => {
  const volumes = useResource("volumes", (signal) => client.listVolumes({ signal }));
  const found = volumes.data.value?.find((one) => one.name === name);
  if (found === undefined) return null;
  return (
    <p class="facts">
      <span>
        Mounted by <MountedBy names={found.attached_to} />
      </span>
      <span>
        Created <Ago time={found.created_at} />
      </span>
    </p>
  );
};

export const VolumePage = ({ name }: { readonly name: string }) => {
  const { folder = "", object = "" } = location.value.query;
  const [deletes, setDeletes] = useState(false);
  return (
    <>
      <div class="title">
        <h1>{name}</h1>
        <div class="buttons">
          <button type="button" class="danger" onClick={() => setDeletes(true)}>
            Delete volume
          </button>
        </div>
      </div>
      <Mounts name={name} />
      <Breadcrumbs volume={name} path={object || folder} />
      {object !== "" ? (
        <ObjectView key={object} volume={name} path={object} />
      ) : (
        <>
          <UploadPanel volume={name} folder={folder} />
          <Objects key={folder} volume={name} folder={folder} />
          <CopyCommands
            request={{
              method: "GET",
              path: "/v1/volume/objects",
              query: { volume: name, prefix: folder, delimiter: "/" },
            }}
            cli={cliOf("volume", "ls", name, ...(folder === "" ? [] : [folder]), "--folders")}
          />
        </>
      )}
      {deletes && <DeleteVolume name={name} close={() => setDeletes(false)} />}
    </>
  );
};
