/** Entry point of the process for providers with logs in memory. Entries arrive with the requests. */
import { serveSql } from "./serve.ts";

await serveSql({ database: undefined });
