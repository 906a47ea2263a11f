/**
 * Converts a source archive into a build context without the files that `.dockerignore` excludes. The container
 * engine's API does not read `.dockerignore`: https://docs.docker.com/build/concepts/context/#dockerignore-files
 */
import { once } from "node:events";
import { pipeline, Readable } from "node:stream";
import * as dockerignorePackage from "@balena/dockerignore";
import { Pack, Parser, type ReadEntry } from "tar";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { TarReader } from "../../../shared/archives/tar/reader.ts";
import { unpackedBytes } from "../../../shared/archives/tar/unpacked.ts";
import { tarPieces } from "../../../shared/archives/tar-pieces.ts";
import { BuildError } from "../../builds/run-command.ts";

/** The package exports the function itself, although its types declare a default export. */
const dockerignore = dockerignorePackage.default as unknown as typeof dockerignorePackage.default.default;

const DOCKERFILE = "Dockerfile";
const IGNORE = ".dockerignore";
const MAX_BYTES = 1024 ** 2;

const tooLarge = (path: string): BuildError =>
  new BuildError({
    reason: "build_failed",
    message: `The ${path} is larger than 1 MiB. ${path.endsWith(IGNORE) ? "Replace its entries with shorter patterns." : "Move inline content into separate files in the source."}`,
  });

const withoutDot = (path: string): string => path.replace(/^(?:\.\/)+/, "");

const entriesOf = async (source: Source, signal: AbortSignal, onReadEntry: (entry: ReadEntry) => void) => {
  const parser = new Parser({ onReadEntry });
  const pieces = tarPieces().on("error", () => undefined);
  pipeline(unpackedBytes(source, signal), pieces, () => undefined);
  for await (const chunk of pieces as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    if (!parser.write(chunk)) await once(parser, "drain", { signal });
  }
  await new Promise<void>((resolve) => parser.once("end", () => resolve()).end());
};

/** Reads the Dockerfile and `.dockerignore`. The text of a missing file is undefined. */
export const readContext = async (
  source: Source,
  signal: AbortSignal,
): Promise<{ readonly dockerfile: string | undefined; readonly ignore: string | undefined }> => {
  const files = new Map<string, Buffer[]>();
  let pieces: Buffer[] | undefined;
  const tar = new TarReader({
    entry: (entry) => {
      const path = withoutDot(entry.path);
      pieces = undefined;
      if (path !== DOCKERFILE && path !== IGNORE) return;
      if (entry.size > MAX_BYTES) throw tooLarge(path);
      pieces = [];
      files.set(path, pieces);
    },
    content: (bytes) => void pieces?.push(Buffer.from(bytes)),
  });
  for await (const chunk of unpackedBytes(source, signal)) tar.write(chunk);
  const textOf = (path: string) => {
    const found = files.get(path);
    return found === undefined ? undefined : Buffer.concat(found).toString("utf8");
  };
  return { dockerfile: textOf(DOCKERFILE), ignore: textOf(IGNORE) };
};

/** Returns the build context as a tar stream, which may be compressed. */
export const contextOf = (source: Source, ignore: string | undefined, signal: AbortSignal): Readable => {
  if (ignore === undefined) return Readable.from(source.open());
  const rules = dockerignore().add(ignore);
  const pack = new Pack({ portable: true });
  const isIgnored = (path: string) => path !== DOCKERFILE && path !== IGNORE && path !== "" && rules.ignores(path);
  const leaving = new AbortController();
  void entriesOf(source, AbortSignal.any([signal, leaving.signal]), (entry) => {
    if (isIgnored(withoutDot(entry.path).replace(/\/$/, ""))) entry.resume();
    else pack.add(entry);
  }).then(
    () => pack.end(),
    (error: unknown) => pack.emit("error", error),
  );
  const context = Readable.from(pack as unknown as AsyncIterable<Buffer>);
  context.once("close", () => leaving.abort());
  return context;
};
