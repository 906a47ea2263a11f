/** Sources for the build rules, made from texts. */
import type { SourceFiles } from "../../../../../core/domain/deploy/source/files.ts";

export const filesOf = (texts: Readonly<Record<string, string>>, folders: readonly string[] = []): SourceFiles => ({
  paths: new Set(Object.keys(texts)),
  folders: new Set(folders),
  texts: new Map(Object.entries(texts)),
});
