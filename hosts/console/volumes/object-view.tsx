/** One object of a volume: preview, download, delete. */
import { useEffect, useState } from "preact/hooks";
import { bytesOf, expectStatus, fetchStorage } from "../../client/storage/storage.ts";
import { announcement, CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { formatBytes } from "../components/format.ts";
import { Loaded, Problem, useResource } from "../components/resource.tsx";
import { saveBlob } from "../components/save-blob.ts";
import { cliOf } from "../components/shell-words.ts";
import { Text } from "../components/text.tsx";
import { Time } from "../components/time.tsx";
import { navigate } from "../shell/router.ts";
import { client } from "../shell/session.ts";
import { findObject } from "./find-objects.ts";
import { decodeText, folderOf, imageTypeOf, nameOf } from "./paths.ts";

interface ObjectProps {
  readonly volume: string;
  readonly path: string;
}

const PREVIEW_BYTES = 64 * 1024;
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;
/** A larger object opens in a new tab, where the browser streams it to disk. */
const MAX_BLOB_BYTES = 256 * 1024 * 1024;

/** Reads at most `max` bytes from the start of an object. */
const readStart = async ({ volume, path }: ObjectProps, max: number, signal: AbortSignal): Promise<Uint8Array> => {
  const { url } = await client.grantDownload({ volume, path }, { signal });
  const response = await fetchStorage(url, { headers: { range: `bytes=0-${max - 1}` }, signal });
  await expectStatus(response, 200, 206);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // A storage service may ignore the range.
  for await (const piece of bytesOf(response, signal)) {
    pieces.push(new Uint8Array(piece));
    size += piece.length;
    if (size >= max) break;
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer()).subarray(0, max);
};

interface Sized extends ObjectProps {
  readonly size: number;
}

const TextPreview = ({ volume, path, size }: Sized) => {
  const start = useResource(`text ${volume} ${path}`, async (signal) => ({
    text: decodeText(await readStart({ volume, path }, PREVIEW_BYTES, signal)),
  }));
  return (
    <Loaded resource={start} waiting="Loading the preview…">
      {({ text }) =>
        text === undefined ? (
          <p class="dim">The object is not text. Download it to open it in another program.</p>
        ) : (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the element that has the focus */}
            <pre class="preview" tabIndex={0}>
              <Text max={PREVIEW_BYTES}>{text}</Text>
            </pre>
            {size > PREVIEW_BYTES && <p class="dim">The preview shows the first 64 KiB.</p>}
          </>
        )
      }
    </Loaded>
  );
};

const Image = ({ path, blob }: { readonly path: string; readonly blob: Blob }) => {
  const [url, setUrl] = useState<string | undefined>(undefined);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const created = URL.createObjectURL(blob);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [blob]);
  if (isBroken)
    return <p class="dim">The browser cannot show this image. Download it to open it in another program.</p>;
  return url === undefined ? null : (
    <img class="preview-image" src={url} alt={`Preview of ${nameOf(path)}`} onError={() => setBroken(true)} />
  );
};

const ImagePreview = ({ volume, path, type }: ObjectProps & { readonly type: string }) => {
  const image = useResource(`image ${volume} ${path}`, async (signal) => {
    const bytes = await readStart({ volume, path }, MAX_IMAGE_BYTES, signal);
    return new Blob([new Uint8Array(bytes)], { type });
  });
  return (
    <Loaded resource={image} waiting="Loading the image…">
      {(blob) => <Image path={path} blob={blob} />}
    </Loaded>
  );
};

const Preview = (object: Sized) => {
  if (object.size === 0) return <p class="dim">The object is empty.</p>;
  const type = imageTypeOf(object.path);
  if (type === undefined) return <TextPreview {...object} />;
  if (object.size > MAX_IMAGE_BYTES) return <p class="dim">The image is too large for a preview. Download it.</p>;
  return <ImagePreview {...object} type={type} />;
};

const download = async ({ volume, path, size }: Sized): Promise<void> => {
  const { url } = await client.grantDownload({ volume, path });
  if (size > MAX_BLOB_BYTES) {
    globalThis.open(url, "_blank", "noreferrer");
    return;
  }
  const response = await fetchStorage(url, { signal: new AbortController().signal });
  await expectStatus(response, 200);
  saveBlob(await response.blob(), nameOf(path));
};

const Download = (object: Sized) => {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const start = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    await download(object).catch(setError);
    setBusy(false);
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void start()}>
        {isBusy ? "Downloading…" : "Download"}
      </button>
      {error !== undefined && <Problem error={error} />}
    </>
  );
};

const DeleteObject = ({ volume, path, close }: ObjectProps & { readonly close: () => void }) => (
  <Confirm
    title="Delete the object?"
    action="Delete"
    danger
    run={async () => {
      const { detail } = await client.deleteObject({ volume, path });
      announcement.value = detail;
      navigate({ page: "volume", name: volume }, { folder: folderOf(path) });
    }}
    close={close}
  >
    <p>
      <code>
        <Text>{path}</Text>
      </code>
    </p>
    <p>The trash keeps volumes, not single objects: this cannot be undone.</p>
    <CopyCommands
      request={{ method: "POST", path: "/v1/volume/delete-object", json: { volume, path } }}
      cli={cliOf("volume", "rm", volume, path)}
    />
  </Confirm>
);

export const ObjectView = ({ volume, path }: ObjectProps) => {
  const object = useResource(`object ${volume} ${path}`, async (signal) => ({
    found: await findObject({ volume, path }, signal),
  }));
  const [deletes, setDeletes] = useState(false);
  return (
    <Loaded resource={object} waiting="Loading the object…">
      {({ found }) =>
        found === undefined ? (
          <p>The volume has no object at this path. Open a folder above.</p>
        ) : (
          <section class="object" aria-label="Object">
            <p class="facts">
              <span>{formatBytes(found.size)}</span>
              <span>
                Updated <Time time={found.updated} />
              </span>
            </p>
            <div class="buttons">
              <Download volume={volume} path={path} size={found.size} />
              <button type="button" class="danger" onClick={() => setDeletes(true)}>
                Delete
              </button>
              <CopyCommands
                request={{ method: "POST", path: "/v1/volume/download", json: { volume, path } }}
                cli={cliOf("volume", "get", volume, path)}
              />
            </div>
            <Preview volume={volume} path={path} size={found.size} />
            {deletes && <DeleteObject volume={volume} path={path} close={() => setDeletes(false)} />}
          </section>
        )
      }
    </Loaded>
  );
};
