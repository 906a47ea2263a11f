/** `portside volume …`: finds the subcommand. */
import { entry } from "../command.ts";
import { subcommandsOf } from "../subcommands.ts";

/** Returns the subcommand for the arguments. */
export const volumeCommand = subcommandsOf(
  "volume",
  {
    create: entry("Create a volume", () => import("./create.ts")),
    ls: entry("List volumes, deleted volumes, or the objects of a volume", () => import("./ls.ts")),
    put: entry("Upload a file or a folder to a volume", () => import("./put.ts")),
    get: entry("Download an object or a folder from a volume", () => import("./get.ts")),
    rm: entry("Delete objects", () => import("./rm.ts")),
    delete: entry("Delete a volume and its content", () => import("./delete.ts")),
    restore: entry("Restore a deleted volume", () => import("./restore.ts")),
  },
  ["volume ls"],
);
