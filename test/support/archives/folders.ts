/** Temporary folders with files, deleted at the end of the test. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Folder extends Disposable {
  readonly path: string;
  write(files: Readonly<Record<string, string>>): void;
}

export const folderWith = (files: Readonly<Record<string, string>> = {}): Folder => {
  const path = mkdtempSync(join(tmpdir(), "portside-test-"));
  const write: Folder["write"] = (more) => {
    for (const [name, text] of Object.entries(more)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    }
  };
  write(files);
  return { path, write, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};
