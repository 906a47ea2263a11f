/** The rules for packing a source folder. The command line and the console apply the same rules. */

/** The name of the project file. */
export const PROJECT_FILE = "portside.json";

/** The files whose patterns exclude files of their folder and of the folders below it. */
export const ignoreFiles: readonly string[] = [".gitignore", ".portsideignore"];

const neverPackedNames: readonly string[] = ["node_modules", ".git", ".portside", ".DS_Store"];

/**
 * Returns whether an entry never belongs in a deploy, such as dependencies, Git history, files with secrets, or the
 * project file of the source.
 * @param depth the number of folders above the entry, excluding the source folder
 */
export const isNeverPacked = (name: string, depth: number): boolean =>
  neverPackedNames.includes(name) || /^\.env($|\.)/.test(name) || (depth === 0 && name === PROJECT_FILE);

/** The number of bytes at the start of a file that determine its mode. */
export const MODE_BYTES = 4;

const ELF = [0x7f, 0x45, 0x4c, 0x46];
const SHEBANG = [0x23, 0x21];

const startsWith = (head: Uint8Array, magic: readonly number[]): boolean =>
  magic.every((byte, at) => head[at] === byte);

/**
 * Returns the mode of a packed file. Scripts that begin with `#!` and ELF programs are executable. The content decides,
 * because browsers and Windows do not know the mode of a file.
 * @param head the first `MODE_BYTES` bytes of the file
 */
export const packedMode = (head: Uint8Array): 0o755 | 0o644 =>
  startsWith(head, SHEBANG) || startsWith(head, ELF) ? 0o755 : 0o644;
