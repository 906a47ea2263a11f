/** What `put` was told to send, and under which paths. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { objectPathProblem } from "../../../../core/domain/volumes/object-path.ts";
import { type Io, UsageError } from "../../terminal/io.ts";
import { type FolderFile, fileSource, folderFiles } from "./folder-files.ts";
import { prefixOf } from "./objects.ts";
import type { Source } from "./upload.ts";

export interface PlannedUpload {
  readonly path: string;
  readonly source: Source;
}

/** The object's path: what was asked for, with the file's own name where that is a folder. */
const objectPath = (wanted: string | undefined, name: string): string => {
  const path = wanted === undefined || wanted === "/" ? name : wanted.endsWith("/") ? wanted + name : wanted;
  const problem = objectPathProblem(path);
  if (problem === undefined) return path;
  throw new UsageError(`'${path}' cannot be: ${problem}. Give another PATH behind the source.`);
};

const fromInput = (io: Io, wanted: string | undefined): PlannedUpload => {
  if (wanted === undefined || wanted.endsWith("/"))
    throw new UsageError("Standard input has no name: give the object's path behind the '-'.");
  const source = { name: "standard input", size: undefined, open: () => io.stdin };
  return { path: objectPath(wanted, ""), source };
};

export interface UploadPlan {
  readonly uploads: readonly PlannedUpload[];
  /** The folder that they go into; undefined for a single one. */
  readonly prefix: string | undefined;
}

/** @param path absolute */
const fromFolder = async (path: string, wanted: string | undefined): Promise<UploadPlan> => {
  const prefix = prefixOf(wanted ?? basename(path));
  const files = await folderFiles(path, prefix);
  return { prefix, uploads: files.map(({ path: inner, source }: FolderFile) => ({ path: prefix + inner, source })) };
};

/** Reads the words of `put`; throws where something of it cannot be sent, before anything is. */
export const planUploads = async (
  io: Io,
  given: string,
  wanted: string | undefined,
  recursive: boolean,
): Promise<UploadPlan> => {
  if (given === "-") return { prefix: undefined, uploads: [fromInput(io, wanted)] };
  const path = resolve(io.cwd, given);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new UsageError(`There is no file '${given}'.`);
  if (found.isDirectory() && !recursive)
    throw new UsageError(`'${given}' is a folder; send all that is in it with -r.`);
  if (found.isDirectory()) return fromFolder(path, wanted);
  const name = basename(path);
  // A pipe or a device ends when it ends.
  const source = found.isFile()
    ? fileSource(given, path, found.size)
    : { name: given, size: undefined, open: () => createReadStream(path) };
  return { prefix: undefined, uploads: [{ path: objectPath(wanted, name), source }] };
};
