/** The URLs that an authority may have. This file imports no HTTP client, because the command line loads it for its help. */
import { isSafeOrigin } from "../../../core/domain/accounts/safe-origin.ts";

/** Whether an authority may have this URL: HTTPS, or HTTP on the loopback. RFC 8555, section 6.1, requires HTTPS. */
export const isAuthorityUrl = isSafeOrigin;
