/** The packages of Amazon cost nothing to whoever does not use them. */
import { importTests } from "../../clouds/imports.ts";

importTests("aws", ["@aws-sdk/", "@smithy/", "@aws-crypto/", "@aws/"]);
