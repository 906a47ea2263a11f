/** Where the adapters change the file system, and why no link that tenant code plants can redirect the change. */

interface WrittenFiles {
  readonly functions: readonly string[];
  /**
   * - `out of reach`: no tenant code can write to a folder on the way.
   * - `open folders`: every step starts from an open folder and refuses links.
   * - `before tenant code`: the folder is new, and no tenant code has run in it.
   * - `kernel`: a file system of the kernel, without links.
   */
  readonly answer: "out of reach" | "open folders" | "before tenant code" | "kernel";
  readonly why: string;
}

const outOfReach = (why: string, ...functions: string[]): WrittenFiles => ({ functions, answer: "out of reach", why });
const openFolders = (why: string, ...functions: string[]): WrittenFiles => ({ functions, answer: "open folders", why });

export const writtenFiles: Readonly<Record<string, WrittenFiles>> = {
  "adapters/local/backup/backup.ts": outOfReach(
    "Reads a copy of the state, writes the key to the work folder, and moves the finished file out of that folder.",
    "rename",
    "writeFile",
  ),
  "adapters/local/backup/copy-database.ts": outOfReach(
    "Reads databases of the platform, and writes to the work folder next to the backup file.",
    "DatabaseSync",
    "rm",
  ),
  "adapters/local/backup/copy-tree.ts": openFolders("Opens for reading, from open folders, and refuses links.", "open"),
  "adapters/local/backup/restore.ts": outOfReach(
    "Works in a new folder next to the data folder and renames it. The files at its top are the platform's.",
    "chmod",
    "chown",
    "mkdir",
    "rename",
    "rm",
  ),
  "adapters/local/backup/unpack-tree.ts": openFolders(
    "Every step starts from an open folder, refuses links and replaces nothing.",
    ".chmod",
    ".chown",
    ".truncate",
    ".utimes",
    ".writeFile",
    "lchown",
    "mkdir",
    "open",
    "symlink",
  ),
  "adapters/local/backup/work-folder.ts": outOfReach(
    "A folder of mode 0700 that belongs to this process's user.",
    "chmod",
    "mkdir",
    "rm",
    "rmdir",
  ),
  "adapters/local/backup/backup-writer.ts": outOfReach("Writes to the work folder.", "createWriteStream"),
  "adapters/local/builds/extract.ts": {
    functions: ["mkdir", "rename"],
    answer: "before tenant code",
    why: "A new folder with a random name next to the app folder, moved into place when it is complete.",
  },
  "adapters/local/builds/image-store.ts": outOfReach(
    "image.json and the moved image are next to the app folder, in the account's image folder.",
    ".writeFile",
    "lutimesSync",
    "mkdir",
    "open",
  ),
  "adapters/local/builds/index.ts": outOfReach("Creates the cache folder of an account if it is missing.", "mkdir"),
  "adapters/local/builds/build-node.ts": outOfReach(
    "Kept dependencies are next to the cache that commands see. They are copied within the sandbox.",
    "lutimes",
    "mkdir",
    "rename",
  ),
  "adapters/local/builds/build-python.ts": outOfReach(
    "The record is next to the environment. The environment's folder is created before commands run.",
    "mkdir",
    "writeFile",
  ),
  "adapters/local/builds/toolchain.ts": outOfReach(
    "Commands see the folder of tools read-only.",
    "chmodSync",
    "mkdirSync",
    "renameSync",
    "writeFileSync",
  ),
  "adapters/local/builds/tree-writer.ts": {
    functions: ["chmodSync", "fchmodSync", "mkdirSync", "openSync", "unlinkSync", "writeSync"],
    answer: "before tenant code",
    why: "Unpacks into a new folder; archives have no links, and files are opened with O_EXCL and O_NOFOLLOW.",
  },
  "adapters/local/containers/containers.ts": outOfReach("Creates the folder of the container runner.", "mkdirSync"),
  "adapters/local/containers/host-image.ts": outOfReach(
    "Creates the image's files in the folder of the container runner.",
    "mkdirSync",
    "rmSync",
    "symlinkSync",
    "writeFileSync",
  ),
  "adapters/local/containers/mount-points.ts": outOfReach(
    "Mount points are in the folder of the container runner; a volume's folder gets its mode through its handle.",
    "fchmodSync",
    "mkdirSync",
    "rmdirSync",
  ),
  "adapters/local/data-folder/layout.ts": outOfReach(
    "Sets modes of the platform's own folders and never enters a folder that tenant code writes.",
    "DatabaseSync",
    "chmodSync",
    "fchmodSync",
    "mkdirSync",
    "openSync",
  ),
  "adapters/local/data-folder/read-only-file.ts": outOfReach("Reads a file in the platform's folder.", "DatabaseSync"),
  "adapters/local/data-folder/repair.ts": outOfReach(
    "Replaces files of the state.",
    ".chmod",
    "copyFileSync",
    "open",
    "renameSync",
  ),
  "adapters/local/data-folder/replaceable-file.ts": outOfReach(
    "Reads a file in the platform's folder.",
    "DatabaseSync",
  ),
  "adapters/local/data-folder/set-aside.ts": outOfReach("Moves damaged files of the state.", "mkdirSync", "renameSync"),
  "adapters/local/engine/socket/serve-engine.ts": outOfReach(
    "Creates a socket in the platform's folder, or in a new private folder.",
    "chmodSync",
    "rmSync",
    "symlinkSync",
  ),
  "adapters/local/engine/socket/socket-path.ts": outOfReach("Creates a new private folder.", "mkdtemp", "rm"),
  "adapters/local/doctor.ts": outOfReach("Tries a new folder with a random name.", "mkdtempSync", "rmSync"),
  "adapters/local/containers/exec-targets.ts": {
    functions: ["openSync"],
    answer: "kernel",
    why: "Opens a namespace below /proc for reading.",
  },
  "adapters/local/health.ts": outOfReach("Writes probes to the platform's own folders.", "rm", "writeFile"),
  "adapters/local/data-folder/leftovers.ts": outOfReach(
    "The moved trees are in image, cache, run and spool folders, whose parents no tenant code writes.",
    "mkdir",
    "rename",
    "rmdir",
  ),
  "adapters/local/logs/log-pages.ts": outOfReach("Reads a log in the platform's folder.", "DatabaseSync"),
  "adapters/local/logs/readable-rows.ts": outOfReach("Reads a log in the platform's folder.", "openSync"),
  "adapters/local/logs/log-repairs.ts": outOfReach(
    "Replaces a log in the platform's folder.",
    "renameSync",
    "rmSync",
    "writeFileSync",
  ),
  "adapters/local/logs/scan.ts": outOfReach("Reads a log in the platform's folder.", "DatabaseSync"),
  "adapters/local/sandbox/bubblewrap.ts": outOfReach("Sandboxes do not see the folder.", "mkdirSync"),
  "adapters/local/sandbox/host-files.ts": outOfReach(
    "The accounts and the resolver settings are in the sandbox folder. Sandboxes see the files read-only.",
    "chmodSync",
    "writeFileSync",
  ),
  "adapters/local/sandbox/cgroup.ts": {
    functions: ["mkdirSync", "rmdirSync", "writeFileSync"],
    answer: "kernel",
    why: "Control groups have no links.",
  },
  "adapters/local/sandbox/freezer.ts": {
    functions: ["writeFileSync"],
    answer: "kernel",
    why: "Control groups have no links.",
  },
  "adapters/local/instances/busy-socket.ts": outOfReach(
    "Creates a socket in the run folder, which sandboxes do not see, or in a new private folder.",
    "chmodSync",
    "chownSync",
  ),
  "adapters/local/instances/instance-notes.ts": outOfReach(
    "Notes are in the run folder, which sandboxes do not see; plain processes do not know the random names.",
    "rmSync",
    "writeFileSync",
  ),
  "adapters/local/instances/launch-service.ts": outOfReach(
    "Creates a plain process's home with a random name in the run folder before the process starts.",
    "mkdirSync",
  ),
  "adapters/local/sandbox/mounts.ts": openFolders(
    "Mount points and the links of plain processes are created from open folders.",
    ".chmod",
    ".chown",
    "symlinkSync",
    "unlinkSync",
  ),
  "adapters/local/sql/log-reader.ts": outOfReach("Reads a log in the platform's folder.", "DatabaseSync"),
  "adapters/local/state/database.ts": outOfReach("Opens files of the state.", "DatabaseSync"),
  "adapters/local/sql/engine.ts": outOfReach("The folder of SQL queries belongs to the platform.", "mkdirSync"),
  "adapters/local/state/check-file.ts": outOfReach(
    "A file of the state, opened with O_NOFOLLOW.",
    "openSync",
    "writeSync",
  ),
  "adapters/local/state/state-copy.ts": outOfReach("Files of the state.", "open", "renameSync", "rmSync"),
  "adapters/local/state/sql.ts": outOfReach("Reads files of the state and its copies.", "DatabaseSync"),
  "adapters/local/state/inspect.ts": outOfReach("Reads the state's file.", "DatabaseSync", "openSync"),
  "adapters/local/secrets/key-file.ts": outOfReach(
    "The secrets key, in the data folder or where the operator says.",
    "fchmodSync",
    "openSync",
    "renameSync",
    "rmSync",
    "writeSync",
  ),
  "adapters/local/state/services.ts": outOfReach("Reads the state's file.", "DatabaseSync"),
  "adapters/local/state/stored-state.ts": outOfReach("Reads the state's file.", "DatabaseSync"),
  "adapters/local/state/lock-data-dir.ts": outOfReach("A file of the state.", "truncateSync"),
  "adapters/local/volumes/local-objects.ts": openFolders(
    "Uploads are next to the volumes, and objects are moved into place from open folders.",
    ".chown",
    "link",
    "mkdir",
    "open",
    "rename",
    "rm",
    "rmdir",
    "unlink",
  ),
  "adapters/local/volumes/object-file.ts": outOfReach(
    "Uploads are in a folder of the platform until they are complete.",
    "createWriteStream",
    "fchownSync",
  ),
  "adapters/local/volumes/part-files.ts": outOfReach(
    "Parts of uploads are in a folder of the platform.",
    "mkdir",
    "open",
    "rename",
    "rm",
  ),
  "adapters/local/volumes/records.ts": outOfReach(
    "Records of volumes are in a folder of the platform.",
    ".writeFile",
    "mkdir",
    "open",
    "rename",
    "rm",
  ),
  "adapters/local/volumes/volume-store.ts": outOfReach(
    "Removes an empty volume folder that no service has mounted.",
    "rmdir",
  ),
  "adapters/local/volumes/quarantine.ts": outOfReach(
    "Moves a volume's folder as a whole; its parent belongs to the platform.",
    "chmod",
    "mkdir",
    "rename",
    "rm",
    "rmdir",
    "writeFile",
  ),
  "adapters/local/tenant-files/folder.ts": openFolders("The module itself.", ".chown", "mkdir", "open"),
  "adapters/local/tenant-files/chown-tree.ts": openFolders(
    "Enters folders by their handles and changes the owner of files without following links.",
    "fchownSync",
    "lchownSync",
    "openSync",
  ),
  "adapters/local/tenant-files/read-text.ts": openFolders("Opens for reading, and refuses links.", "openSync"),
  "adapters/local/tenant-files/remove-tree.ts": openFolders(
    "The module itself. Systems without handles have no sandbox either.",
    ".chmod",
    "chmod",
    "open",
    "rename",
    "rm",
    "rmdir",
    "unlink",
  ),
  "adapters/shared/archives/disk-spool.ts": outOfReach(
    "Received sources are in the spool.",
    ".writeFile",
    "mkdir",
    "open",
    "rm",
  ),
  "adapters/shared/runtime/low-priority.ts": {
    functions: ["writeFileSync"],
    answer: "kernel",
    why: "Writes to a file of the process below /proc.",
  },
  "adapters/shared/runtime/make-folders.ts": outOfReach(
    "The operator chooses the path, and no service can influence it.",
    "mkdirSync",
  ),
  "adapters/shared/sql/database.ts": outOfReach("The database of a SQL query is in the platform's folder.", "rmSync"),
};
