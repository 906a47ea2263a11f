/** Preloaded in Lambda functions on ministack: resolves the services' domain, as the wildcard DNS record does. */
import { resolveLocally } from "../wildcard-dns.ts";

resolveLocally(process.env["PORTSIDE_DOMAIN"] ?? "");
