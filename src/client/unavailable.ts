import { ChronicleError } from "../core/errors.ts";

/** Nobody answers, or no more. */
export function unavailable(where: string, cause: unknown): ChronicleError {
  const reason = reasonOf(cause);
  return new ChronicleError("UNAVAILABLE", `${where} does not answer${reason === "" ? "" : `: ${reason}`}`, {
    hint: "is `chronicle serve` running there?",
    cause,
  });
}

/** What stands behind an error: `fetch` says only that it failed. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : "";
  const { cause: behind } = cause;
  return behind instanceof Error && behind.message !== "" ? behind.message : cause.message;
}
