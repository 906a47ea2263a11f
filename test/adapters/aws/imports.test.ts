/** Importing the adapter does not load any AWS package. */
import { importTests } from "../../clouds/imports.ts";

importTests("aws", ["@aws-sdk/", "@smithy/", "@aws-crypto/", "@aws/"]);
