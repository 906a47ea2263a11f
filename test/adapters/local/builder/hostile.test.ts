/** Builds that plant links, pipes and races change nothing outside and stall nobody. */
import { hostileBuildTests } from "../../../support/hostile-builds-suite.ts";

hostileBuildTests([
  { kind: "file-link", vector: "build" },
  { kind: "fifo", vector: "dependency" },
  { kind: "race", vector: "build" },
]);
