/** `portside secret …`: finds the subcommand. */
import { entry } from "../command.ts";
import { subcommandsOf } from "../subcommands.ts";

/** Returns the subcommand for the arguments. */
export const secretCommand = subcommandsOf(
  "secret",
  {
    set: entry("Create a secret, or give it a new value", () => import("./set.ts")),
    list: entry("List secrets and the deployments that use them", () => import("./list.ts"), "ls"),
    delete: entry("Delete a secret, or one of its versions", () => import("./delete.ts")),
    rekey: entry("Encrypt all secrets of a data folder under a new key", () => import("./rekey.ts")),
  },
  ["secret list"],
);
