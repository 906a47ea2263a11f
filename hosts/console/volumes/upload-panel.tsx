/** Uploads to a folder: a drop zone, a file field, and the progress of each file. */
import { useSignal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { objectPathProblem } from "../../../core/domain/volumes/object-path.ts";
import { CopyCommands } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { DropZone } from "../components/drop/drop-zone.tsx";
import { formatBytes } from "../components/format.ts";
import { Problem } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Text } from "../components/text.tsx";
import { chosenFiles, droppedFiles } from "./dropped-files.ts";
import { existingPaths } from "./find-objects.ts";
import { isSameFile, type Unfinished } from "./unfinished.ts";
import {
  type ChosenFile,
  cancel,
  clearDone,
  interruptedUploads,
  pause,
  resume,
  startUploads,
  type Upload,
  type UploadState,
  unfinishedUploads,
  uploads,
} from "./uploads.ts";

const words: Readonly<Record<UploadState, string>> = {
  waiting: "Waiting",
  sending: "Uploading",
  paused: "Paused",
  failed: "Failed",
  done: "Uploaded",
};

/** The maximum number of rows. More would slow the page down. */
const MAX_ROWS = 50;

const Row = ({ upload }: { readonly upload: Upload }) => {
  const { path, file, state, sent, problem, isResumable } = upload;
  const percent = file.size === 0 ? 0 : Math.min(100, Math.floor((sent.value / file.size) * 100));
  const isActive = state.value === "sending" || state.value === "waiting";
  return (
    <li class={`upload ${state.value}`}>
      <span class="upload-name">
        <Text>{path}</Text>
      </span>
      <span class="dim">
        {words[state.value]}
        {state.value !== "done" && ` · ${formatBytes(sent.value)} of ${formatBytes(file.size)} · ${percent} %`}
        {state.value === "done" && ` · ${formatBytes(file.size)}`}
      </span>
      {state.value !== "done" && <progress max={100} value={percent} aria-label={`Upload of ${path}`} />}
      {problem.value !== undefined && <Problem error={problem.value} />}
      <span class="buttons">
        {isActive && isResumable && (
          <button type="button" aria-label={`Pause ${path}`} onClick={() => pause(upload)}>
            Pause
          </button>
        )}
        {(state.value === "paused" || state.value === "failed") && (
          <button type="button" aria-label={`Resume ${path}`} onClick={() => resume(upload)}>
            {isResumable ? "Resume" : "Retry"}
          </button>
        )}
        {state.value !== "done" && (
          <button type="button" aria-label={`Cancel ${path}`} onClick={() => cancel(upload)}>
            Cancel
          </button>
        )}
      </span>
    </li>
  );
};

const Interrupted = ({ one, changed }: { readonly one: Unfinished; readonly changed: () => void }) => {
  const input = useRef<HTMLInputElement>(null);
  const problem = useSignal("");
  const choose = (list: FileList | null): void => {
    const file = list?.[0];
    if (file === undefined) return;
    const version = { volume: one.volume, path: one.path, size: file.size, modified: file.lastModified };
    if (!isSameFile(one, version)) {
      problem.value = `‘${file.name}’ is not the file of this upload, or it has changed. To start over, discard this upload.`;
      return;
    }
    startUploads(one.volume, [{ path: one.path, file }]);
  };
  return (
    <li class="upload interrupted">
      <span class="upload-name">
        <Text>{one.path}</Text>
      </span>
      <span class="dim">Interrupted · {formatBytes(one.size)} · choose the file again to continue</span>
      {problem.value !== "" && (
        <p class="field-problem" role="alert">
          {problem.value}
        </p>
      )}
      <span class="buttons">
        <input
          ref={input}
          type="file"
          hidden
          aria-label={`File of ${one.path}`}
          onChange={({ currentTarget }) => choose(currentTarget.files)}
        />
        <button type="button" aria-label={`Choose the file of ${one.path}`} onClick={() => input.current?.click()}>
          Choose file
        </button>
        <button
          type="button"
          aria-label={`Discard ${one.path}`}
          onClick={() => {
            unfinishedUploads().remove(one);
            changed();
          }}
        >
          Discard
        </button>
      </span>
    </li>
  );
};

const UploadList = ({ volume }: { readonly volume: string }) => {
  const [, setRound] = useState(0);
  const mine = uploads.value.filter((one) => one.volume === volume);
  const interrupted = interruptedUploads(volume);
  if (mine.length + interrupted.length === 0) return null;
  const open = mine.filter(({ state }) => state.value !== "done");
  const done = mine.length - open.length;
  const shown = [...open, ...mine.filter(({ state }) => state.value === "done")].slice(0, MAX_ROWS);
  return (
    <section class="uploads" aria-labelledby="uploads-title">
      <div class="title">
        <h2 id="uploads-title">Uploads</h2>
        <span class="dim" role="status">
          {done} of {mine.length} done
        </span>
        {done > 0 && (
          <button type="button" onClick={clearDone}>
            Clear finished
          </button>
        )}
      </div>
      <ul class="plain">
        {interrupted.map((one) => (
          <Interrupted key={one.path} one={one} changed={() => setRound((round) => round + 1)} />
        ))}
        {shown.map((upload) => (
          <Row key={upload.path} upload={upload} />
        ))}
      </ul>
      {mine.length > shown.length && <p class="dim">and {mine.length - shown.length} more</p>}
    </section>
  );
};

/** Throws before the first upload if any file cannot be an object. */
const requireValidPaths = (files: readonly ChosenFile[]): void => {
  for (const { path } of files) {
    const problem = objectPathProblem(path);
    if (problem !== undefined) throw new Error(`Nothing was uploaded. Rename ‘${path}’: ${problem}.`);
  }
};

interface Replacement {
  readonly files: readonly ChosenFile[];
  readonly paths: readonly string[];
}

interface PanelProps {
  readonly volume: string;
  readonly folder: string;
}

export const UploadPanel = ({ volume, folder }: PanelProps) => {
  const input = useRef<HTMLInputElement>(null);
  const error = useSignal<unknown>(undefined);
  const replacement = useSignal<Replacement | undefined>(undefined);
  const add = async (choosing: Promise<ChosenFile[]>): Promise<void> => {
    error.value = undefined;
    try {
      const files = await choosing;
      requireValidPaths(files);
      const paths = await existingPaths(
        volume,
        files.map(({ path }) => path),
      );
      if (paths.length > 0) replacement.value = { files, paths };
      else startUploads(volume, files);
    } catch (problem) {
      error.value = problem;
    }
  };
  return (
    <>
      <DropZone class="upload-drop" label="Upload" drop={(items) => void add(droppedFiles(items, folder))}>
        <span>Drop files or folders here</span>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={({ currentTarget }) => {
            if (currentTarget.files === null) return;
            void add(Promise.resolve(chosenFiles(currentTarget.files, folder)));
            currentTarget.value = "";
          }}
        />
        <button type="button" onClick={() => input.current?.click()}>
          Choose files
        </button>
        <CopyCommands
          request={{ method: "POST", path: "/v1/volume/upload", json: { volume, object: `${folder}FILE` } }}
          cli={cliOf("volume", "put", volume, "FILE", ...(folder === "" ? [] : [folder]))}
        />
      </DropZone>
      {error.value !== undefined && <Problem error={error.value} />}
      <UploadList volume={volume} />
      {replacement.value !== undefined && (
        <Confirm
          title={replacement.value.paths.length === 1 ? "Replace the object?" : "Replace the objects?"}
          action="Replace"
          danger
          run={async () => {
            if (replacement.value !== undefined) startUploads(volume, replacement.value.files);
          }}
          close={() => {
            replacement.value = undefined;
          }}
        >
          <p>The volume already has these objects. Their current content cannot be restored.</p>
          <ul class="plain">
            {replacement.value.paths.slice(0, 10).map((path) => (
              <li key={path}>
                <code>
                  <Text>{path}</Text>
                </code>
              </li>
            ))}
          </ul>
          {replacement.value.paths.length > 10 && <p>and {replacement.value.paths.length - 10} more</p>}
        </Confirm>
      )}
    </>
  );
};
