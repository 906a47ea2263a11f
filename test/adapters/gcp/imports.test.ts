/** The packages of Google Cloud cost nothing to whoever does not use them. */
import { importTests } from "../../clouds/imports.ts";

importTests("gcp", ["@google-cloud/", "google-auth-library/", "google-gax/", "@grpc/", "protobufjs/"]);
