/** `portside domain …`: finds the subcommand. */
import { entry } from "../command.ts";
import { subcommandsOf } from "../subcommands.ts";

/** Returns the subcommand for the arguments. */
export const domainCommand = subcommandsOf(
  "domain",
  {
    add: entry("Add a domain to a deployment", () => import("./add.ts")),
    list: entry("List your domains", () => import("./list.ts"), "ls"),
    check: entry("Check the DNS records of a domain", () => import("./check.ts")),
    remove: entry("Remove a domain", () => import("./remove.ts"), "rm"),
    rekey: entry("Replace the keys of a data folder's ACME accounts", () => import("./rekey.ts")),
  },
  ["domain add app.example.com my-app"],
);
