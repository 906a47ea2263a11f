/** Preloaded in Lambda's functions on ministack: the wildcard record of the services' domain. */
import { resolveLocally } from "../wildcard-dns.ts";

resolveLocally(process.env["PORTSIDE_DOMAIN"] ?? "");
