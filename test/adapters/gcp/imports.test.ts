/** Importing the adapter loads no Google Cloud package. */
import { importTests } from "../../clouds/imports.ts";

importTests("gcp", ["@google-cloud/", "google-auth-library/", "google-gax/", "@grpc/", "protobufjs/"]);
