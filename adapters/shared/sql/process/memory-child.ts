/** Entry point of the process for providers with logs in memory. Entries arrive with the orders. */
import { serveSql } from "./serve.ts";

await serveSql({ database: undefined });
