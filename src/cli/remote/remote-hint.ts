import { ChronicleError } from "../../core/values/errors.ts";

/** Adds a hint for the command line to a server's `UNAUTHENTICATED`; returns other errors as they are. */
export function withRemoteHint(error: unknown): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "UNAUTHENTICATED") return error;
  const { code, message, data } = error;
  const hint =
    "give a token by $CHRONICLE_TOKEN or --token-file (`chronicle token create` on the server's machine makes one); " +
    "there, its owner needs none: --remote unix:";
  return new ChronicleError(code, message, { hint, data, cause: error });
}
