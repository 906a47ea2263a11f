/** Lets the user choose the source of a deploy: by drag and drop, or with a button. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { DropZone } from "../../components/drop/drop-zone.tsx";
import { Problem } from "../../components/resource.tsx";
import { checkProject } from "./check-project.ts";
import {
  type ChosenSource,
  examine,
  exampleSource,
  type SourceFacts,
  sourceOfArchive,
  sourceOfDrop,
  sourceOfFolder,
} from "./chosen-source.ts";
import { dropped } from "./dropped.ts";

/** A source that the page has examined. */
export type ExaminedSource = SourceFacts & { readonly source: ChosenSource };

interface PickerProps {
  readonly chosen: Signal<ExaminedSource | undefined>;
  /** Called with each source that the user chooses. */
  readonly choose: (examined: ExaminedSource) => void;
  /** Whether to offer the example, or to choose it because the URL says so. */
  readonly example: "offered" | "chosen" | "none";
}

const describe = ({ source, files }: ExaminedSource): string => {
  if (source.kind === "archive") return source.file.name;
  const name = source.name === "" ? "Dropped files" : source.name;
  return `${name}, ${files} ${files === 1 ? "file" : "files"}`;
};

export const SourcePicker = ({ chosen, choose, example }: PickerProps) => {
  const folder = useRef<HTMLInputElement>(null);
  const archive = useRef<HTMLInputElement>(null);
  const error = useSignal<unknown>(undefined);
  const isReading = useSignal(false);
  const latest = useRef(0);
  const take = async (find: () => ChosenSource): Promise<void> => {
    const mine = ++latest.current;
    // A deploy must not send the earlier source.
    chosen.value = undefined;
    error.value = undefined;
    isReading.value = true;
    const read = async (): Promise<ExaminedSource> => {
      const examined = await examine(find());
      if (examined.project !== undefined) await checkProject(examined.project);
      return examined;
    };
    const [found, problem] = await read().then(
      (examined) => [examined, undefined] as const,
      (reason: unknown) => [undefined, reason] as const,
    );
    // The user has chosen another source.
    if (mine !== latest.current) return;
    isReading.value = false;
    error.value = problem;
    if (found !== undefined) choose(found);
  };
  useEffect(() => {
    // Preact's types lack the attribute.
    folder.current?.setAttribute("webkitdirectory", "");
    const items = dropped.value;
    dropped.value = undefined;
    if (items !== undefined) void take(() => sourceOfDrop(items));
    else if (example === "chosen") void take(exampleSource);
  }, []);
  const takeFiles = (input: HTMLInputElement, find: (files: readonly File[]) => ChosenSource): void => {
    const files = [...(input.files ?? [])];
    // Let the user choose the same folder again after a change to its files.
    input.value = "";
    void take(() => find(files));
  };
  return (
    <section class="card" aria-labelledby="source-title">
      <h2 id="source-title">Source</h2>
      {error.value !== undefined && <Problem error={error.value} />}
      <DropZone class="source-drop" drop={(items) => void take(() => sourceOfDrop(items))}>
        <p role="status">
          {isReading.value ? (
            "Reading the files…"
          ) : chosen.value === undefined ? (
            "Drop a folder or a tar.gz here."
          ) : (
            <strong>{describe(chosen.value)}</strong>
          )}
        </p>
        <div class="buttons">
          <button type="button" onClick={() => folder.current?.click()}>
            Choose a folder
          </button>
          <button type="button" onClick={() => archive.current?.click()}>
            Choose a tar.gz
          </button>
          {example !== "none" && (
            <button type="button" onClick={() => void take(exampleSource)}>
              Use the example
            </button>
          )}
        </div>
        <input
          ref={folder}
          type="file"
          hidden
          aria-label="Folder"
          onChange={({ currentTarget }) => takeFiles(currentTarget, sourceOfFolder)}
        />
        <input
          ref={archive}
          type="file"
          hidden
          aria-label="Archive"
          accept=".gz,.tgz,application/gzip"
          onChange={({ currentTarget }) => takeFiles(currentTarget, sourceOfArchive)}
        />
      </DropZone>
      <p class="help">
        A deploy of a folder omits <code>node_modules</code>, <code>.git</code>, <code>.env</code> files, and files that
        match <code>.gitignore</code> or <code>.portsideignore</code>. A <code>portside.json</code> in the folder fills
        in the settings. A tar.gz is sent unchanged.
      </p>
    </section>
  );
};
