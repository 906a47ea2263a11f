/** Plans the uploads of `put`: sources and object paths. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { objectPathProblem } from "../../../../core/domain/volumes/object-path.ts";
import { formatFileError } from "../../../composition/file-error.ts";
import { type Io, UsageError } from "../../terminal/io.ts";
import { fileSource, folderFiles } from "./folder-files.ts";
import { prefixOf } from "./objects.ts";
import type { PlannedUpload } from "./source.ts";

/** Returns the object's path. Appends the file's name if the given path is a folder. */
const objectPath = (wanted: string | undefined, name: string): string => {
  const path = wanted === undefined || wanted === "/" ? name : wanted.endsWith("/") ? wanted + name : wanted;
  const problem = objectPathProblem(path);
  if (problem === undefined) return path;
  throw new UsageError(`'${path}' is not a valid object path: ${problem}. Pass another PATH after SOURCE.`);
};

const fromInput = (io: Io, wanted: string | undefined): PlannedUpload => {
  if (wanted === undefined || wanted.endsWith("/"))
    throw new UsageError("Standard input has no name. Pass the object's PATH after '-'.");
  const source = { name: "standard input", size: undefined, open: () => io.stdin };
  return { path: objectPath(wanted, ""), source };
};

export interface UploadPlan {
  readonly uploads: readonly PlannedUpload[];
  /** The target folder; undefined for a single file. */
  readonly prefix: string | undefined;
}

/** @param path absolute */
const fromFolder = async (path: string, wanted: string | undefined): Promise<UploadPlan> => {
  const prefix = prefixOf(wanted ?? basename(path));
  return { prefix, uploads: await folderFiles(path, prefix) };
};

/** Returns the uploads to perform. Throws before the first upload if any file cannot be uploaded. */
export const planUploads = async (
  io: Io,
  given: string,
  wanted: string | undefined,
  recursive: boolean,
): Promise<UploadPlan> => {
  if (given === "-") return { prefix: undefined, uploads: [fromInput(io, wanted)] };
  const path = resolve(io.cwd, given);
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(formatFileError(given, error));
  });
  if (found.isDirectory() && !recursive) throw new UsageError(`'${given}' is a folder. Upload it with -r.`);
  if (found.isDirectory()) return fromFolder(path, wanted);
  // Pipes and devices have no known size.
  const source = found.isFile()
    ? fileSource(given, path, found)
    : { name: given, size: undefined, open: () => createReadStream(path) };
  return { prefix: undefined, uploads: [{ path: objectPath(wanted, basename(path)), source }] };
};
