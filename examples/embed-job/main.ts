/** `npm start -- FOLDER NAME` */
import { homedir } from "node:os";
import { join } from "node:path";
import { runJob } from "./job.ts";

const [folder = "../hello", name = "nightly"] = process.argv.slice(2);
const answer = await runJob({ folder, name, dataDir: join(homedir(), ".portside-job"), say: console.log });
console.log(answer);
