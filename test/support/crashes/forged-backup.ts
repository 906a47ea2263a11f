/** Backups with arbitrary content. */
import { createHash } from "node:crypto";
import {
  type BackupEntry,
  BLOCK,
  DATA,
  END,
  encodeEntry,
  HEAD,
  paddingOf,
} from "../../../adapters/local/backup/format.ts";

export interface Forged {
  readonly entries?: readonly (Partial<BackupEntry> & { readonly content?: string })[];
  readonly head?: object;
  readonly end?: object;
}

/** An uncompressed backup with a correct digest and arbitrary content. */
export const forgeBackup = ({ entries = [], head = {}, end = {} }: Forged): Buffer => {
  const blocks: Buffer[] = [];
  const add = (entry: Partial<BackupEntry>, content = "") => {
    const bytes = Buffer.from(content);
    const common = { type: "file", mode: 0o600, uid: 0, gid: 0, modified: 0, target: "", path: "" } as const;
    const size = entry.type === undefined || entry.type === "file" ? bytes.length : 0;
    blocks.push(encodeEntry({ ...common, size, ...entry }), bytes, Buffer.alloc(paddingOf(bytes.length)));
  };
  add({ path: HEAD }, JSON.stringify({ format: 1, created_at: "now", data_dir: "/data", uid: 0, ...head }));
  for (const { content, ...entry } of entries) add({ ...entry, path: `${DATA}/${entry.path}` }, content);
  const sha256 = createHash("sha256").update(Buffer.concat(blocks)).digest("hex");
  const counts = { deployments: 0, volumes: 0, objects: 0, entries: entries.length };
  add({ path: END }, JSON.stringify({ sha256, ...counts, ...end }));
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
};
